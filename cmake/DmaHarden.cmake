# What makes a mistake in memory end the program instead of serving whoever sent the file. The test
# supply/hardening reads it off the built files, because a flag can be lost on its way to them.
#
# Not here: -D_GLIBCXX_ASSERTIONS, which adds 7 to 13 % to the instructions of an epoch (the presets that
# test have it), and -ftrivial-auto-var-init=zero, which hides from valgrind and the sanitizers that a
# variable was never set.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

# Addresses that differ from run to run, also where the compiler's own default is otherwise.
check_pie_supported(LANGUAGES CXX)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# A compiler is given what it knows, without a warning (clang 14 for ARM ignores -fstack-clash-protection).
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

# The table of foreign functions is filled before main and read-only from then on; nor is the stack code.
set(read_only "LINKER:-z,relro,-z,now,-z,noexecstack")
check_linker_flag(CXX "${read_only}" DMA_HAS_RELRO)
if(DMA_HAS_RELRO)
  add_link_options("${read_only}")
endif()

# glibc's checks of sizes take an optimising compiler to know the sizes, and warn of any other. The
# sanitizers watch the same functions themselves, and better.
string(TOUPPER "CMAKE_CXX_FLAGS_${CMAKE_BUILD_TYPE}" flags)
set(flags "${CMAKE_CXX_FLAGS} ${${flags}}")
if(flags MATCHES "-O[123sgz]|-Ofast" AND NOT DMA_SANITIZE AND NOT flags MATCHES "-fsanitize")
  # GCC 12 and newer check sizes that are known only when the program runs.
  set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_cxx_source_compiles("#include <cstring>\nint main() {}" DMA_HAS_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  set(DMA_FORTIFIED ON)
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$<IF:$<BOOL:${DMA_HAS_FORTIFY_3}>,3,2>)
endif()
