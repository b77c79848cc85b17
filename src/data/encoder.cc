#include <dma/data/encoder.h>
