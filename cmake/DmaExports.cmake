# dma_exports(<target> <glob>...): the shared library or module exports only the symbols that a glob matches. It hides
# those from static libraries and instances of other libraries' templates, which could replace another library's.
include_guard()

function(dma_exports target)
  if(NOT UNIX OR APPLE)
    return()  # version scripts are ELF's
  endif()
  list(JOIN ARGN "; " globs)
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}.exports")
  file(CONFIGURE OUTPUT "${script}" CONTENT "{ global: ${globs}; local: *; };\n")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${script}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${script}")
endfunction()

# Names in namespace dma as the compiler writes them: functions and variables, members (K: const; R, O: & and &&),
# what belongs to a type (table of virtual functions, type information), thunks, and the static variables of
# inline functions, of which a program must have one.
set(DMA_NAMESPACE
  "_ZN3dma*" "_ZN[KRO]3dma*" "_ZNK[RO]3dma*"
  "_ZT[VTIS]N3dma*" "_ZT[hv]*_N3dma*"
  "_ZZN3dma*" "_ZZN[KRO]3dma*" "_ZGVN3dma*" "_ZGVZN3dma*" "_ZGVZN[KRO]3dma*")
