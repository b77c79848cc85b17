# Sets DMA_PYTHON to a Python 3 that can import mpmath. The system's is tried first, because the package manager
# installs mpmath there, whatever Python is first in PATH.
function(dma_imports_mpmath result program)
  execute_process(COMMAND "${program}" -c "import mpmath"
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(NOT status EQUAL 0)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

find_program(DMA_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH VALIDATOR dma_imports_mpmath)
find_program(DMA_PYTHON NAMES python3 VALIDATOR dma_imports_mpmath
  DOC "A Python 3 interpreter with mpmath")
