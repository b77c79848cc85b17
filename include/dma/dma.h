// dma/dma.h: everything that an installed user needs.
#pragma once

#include <dma/belief/independent.h>
#include <dma/belief/joint.h>
#include <dma/data/csv.h>
#include <dma/data/encoder.h>
#include <dma/factors/conformance.h>
#include <dma/factors/factors.h>
#include <dma/graph/graph.h>
#include <dma/messages/gaussian.h>
#include <dma/messages/lognormal.h>
#include <dma/metrics/metrics.h>
#include <dma/regressor/merging.h>
#include <dma/regressor/regressor.h>
#include <dma/regressor/stream.h>
#include <dma/special/accuracy.h>
#include <dma/special/normal.h>
#include <dma/special/random.h>
