// regressor/shared_start.h: models that learnt at the centre of a start (regressor/merging.h), as data.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <dma/regressor/model.h>

namespace dma::detail {

// A model that has learnt these rows alone, at the centre of a start or of a model that has one. Copies were merged.
Model learnt_at_start(const Model& like, EncodedRows rows, std::size_t threads);
// What these rows said is taken out of the networks; the names of the rows are the caller's.
Model without_messages_of(const Model& model, const Data& rows, std::size_t threads);
// The sum of models that are known to fit together.
Model summed(std::span<const Model* const> parts);
// The same. Throws NetworkError if they do not fit together. Names: see Regressor::merge.
Model merged(std::span<const Model* const> parts, std::span<const std::string> names);

// What new rows change of an encoder: new categories are learnt together, in the column that others share, and from then on
// that says something. Bounds that were assumed do not hold if a row lies beyond them; such targets are added to `unbounded`.
Encoder encoder_after(const Encoder& encoder, const EncodedRows& fresh,
                      std::vector<std::string>& unbounded);

}  // namespace dma::detail
