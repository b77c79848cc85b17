#include <dma/metrics/metrics.h>
