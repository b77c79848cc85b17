#include <dma/data/encoder.h>

#include <gtest/gtest.h>
