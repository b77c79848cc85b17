#include <dma/metrics/metrics.h>

#include <gtest/gtest.h>
