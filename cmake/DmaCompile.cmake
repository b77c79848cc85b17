# How dma's own targets are compiled: warnings, sanitizers, hardening, clang-tidy. Only dma_warnings is
# linked by name; the others hold for the whole build, because every object has to agree on them.

add_library(dma_warnings INTERFACE)
target_compile_options(dma_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion
  # GCC 12 sees overlapping copies in "text" + std::string (GCC bug 105651, fixed in 13).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<BOOL:${DMA_WERROR}>:-Werror>)

if(DMA_SANITIZE)
  # Left out: what stops a program anyway (a null pointer), or the address sanitizer sees when the memory is used. With them
  # clang takes 110 s instead of 14 for kernels/simd.cc (pointer-overflow), and a third longer for the rest.
  set(DMA_SANITIZE_FLAGS -fsanitize=${DMA_SANITIZE} -fno-sanitize=null,object-size,pointer-overflow,vptr
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options(${DMA_SANITIZE_FLAGS})
  add_link_options(${DMA_SANITIZE_FLAGS})
  add_compile_definitions(DMA_FEW_INSTRUCTION_SETS)  # src/kernels/instruction_sets.h
endif()

# dma_only_read(<target>): clang only reads it in the build of ./dev check; nothing runs it there.
function(dma_only_read target)
  if(DMA_SANITIZE AND DMA_CLANG_TIDY)
    target_compile_options(${target} PRIVATE -O0 -fno-sanitize=all)
  endif()
endfunction()

if(DMA_HARDEN)
  include(DmaHarden)
endif()

if(DMA_CLANG_TIDY)
  find_program(DMA_CLANG_TIDY_PROGRAM NAMES clang-tidy-14 clang-tidy REQUIRED)
  # Ninja recompiles a file when its command changes, but not when .clang-tidy does, so the command contains a digest
  # of that configuration.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/.clang-tidy")
  file(SHA256 "${PROJECT_SOURCE_DIR}/.clang-tidy" tidy_digest)
  set(CMAKE_CXX_CLANG_TIDY "${DMA_CLANG_TIDY_PROGRAM}" --quiet --warnings-as-errors=*
                           --extra-arg=-DDMA_TIDY_${tidy_digest})
endif()
