#include <dma/data/csv.h>

#include <gtest/gtest.h>
