#!/usr/bin/env bash
# tools/test_packages.sh PACKAGES ROOT: makes a new Debian in the folder ROOT (root, debootstrap), installs the .deb
# files of PACKAGES there as a user would, and uses the command, the library and the Python module; then the wheel, in
# an environment without our packages. ROOT is removed afterwards. ./dev check packages calls it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
packages=$(cd "$1" && pwd -P)
mkdir -p "$(dirname "$2")"
place=$(cd "$(dirname "$2")" && pwd -P)/$(basename "$2")

# shellcheck source=tools/clean_root.sh
. "$here/tools/clean_root.sh"

say() { printf '\n-- %s\n' "$*"; }

say "A new Debian"
trap 'remove_root "$place"' EXIT
new_root "$place"
mkdir "$place/packages"
cp "$packages"/*.deb "$packages"/*.whl "$place/packages/"
cp "$here/tests/install/CMakeLists.txt" "$here/tests/install/main.cc" "$place/trial/"

say "The command"
inside "$place" apt-get update -qq
install_inside "$place" '/packages/dma_*.deb'
inside "$place" dma --version
inside "$place" sh -c 'cd /trial && dma sample wave > wave.csv && dma fit wave.csv --target y && head -4 wave.csv | dma predict wave.safetensors'

say "The library"
install_inside "$place" 'g++ cmake make /packages/libdma-dev_*.deb'
inside "$place" sh -c 'cd /trial && cmake -B build . >/dev/null && cmake --build build >/dev/null && build/consumer'

say "The Python module"
install_inside "$place" 'python3-venv /packages/python3-dma_*.deb'
use='import dma, numpy as np
from importlib.metadata import version
X = np.linspace(-1, 1, 40)[:, None]
mean, std = dma.DMARegressor(random_state=1).fit(X, X[:, 0] ** 2).predict([[0.5]], return_std=True)
assert abs(mean[0] - 0.25) < 4 * std[0] + 0.02, (mean, std)
assert version("dma") == dma.__version__
print(dma.__version__, dma.__file__, mean, std)'
inside "$place" python3 -c "$use"

say "The wheel"
inside "$place" sh -c 'dpkg --remove python3-dma libdma-dev dma libtbb-dev libtbb12 libtbbmalloc2 libtbbbind-2-5' >/dev/null 2>&1
inside "$place" sh -c 'python3 -m venv --system-site-packages /trial/venv && /trial/venv/bin/pip install -q --no-index --no-deps /packages/dma-*.whl'
inside "$place" /trial/venv/bin/python -c "$use"

say "All of them work in a clean root"
