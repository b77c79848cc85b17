# Options that make a memory error end the program instead of helping an attacker. The test supply/hardening checks
# the built files, because a flag can get lost on the way.
#
# Not here: -D_GLIBCXX_ASSERTIONS, which adds 7 to 13 % to the instructions of an epoch (the presets that
# test have it), and -ftrivial-auto-var-init=zero, which hides from valgrind and the sanitizers that a
# variable was never set.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

# Position independence, even where it is not the compiler's default.
check_pie_supported(LANGUAGES CXX)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# A compiler gets only options that it accepts without a warning (clang 14 for ARM ignores -fstack-clash-protection).
set(CMAKE_REQUIRED_FLAGS -Werror)
foreach(flag
    -fstack-protector-strong
    -fstack-clash-protection
    -mbranch-protection=standard  # ARM
    -fcf-protection=full)         # x86
  string(MAKE_C_IDENTIFIER "DMA_HAS${flag}" known)
  check_cxx_compiler_flag(${flag} ${known})
  if(${known})
    add_compile_options(${flag})
  endif()
endforeach()
unset(CMAKE_REQUIRED_FLAGS)

# The table of foreign functions is filled before main and then read-only; the stack is not executable.
set(read_only "LINKER:-z,relro,-z,now,-z,noexecstack")
check_linker_flag(CXX "${read_only}" DMA_HAS_RELRO)
if(DMA_HAS_RELRO)
  add_link_options("${read_only}")
endif()

# glibc's size checks need an optimising compiler and warn otherwise. The sanitizers check the same functions better.
string(TOUPPER "CMAKE_CXX_FLAGS_${CMAKE_BUILD_TYPE}" flags)
set(flags "${CMAKE_CXX_FLAGS} ${${flags}}")
if(flags MATCHES "-O[123sgz]|-Ofast" AND NOT DMA_SANITIZE AND NOT flags MATCHES "-fsanitize")
  # GCC 12 and newer check sizes that are known only at run time.
  set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_cxx_source_compiles("#include <cstring>\nint main() {}" DMA_HAS_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  set(DMA_FORTIFIED ON)
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$<IF:$<BOOL:${DMA_HAS_FORTIFY_3}>,3,2>)
endif()
