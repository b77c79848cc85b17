#include <dma/data/csv.h>
