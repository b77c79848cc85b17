#include <dma/data/table.h>
