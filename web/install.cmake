# Installs what package-lock.json names into DIR, unless that is there already:
#   cmake -DNPM=… -DSOURCE=… -DDIR=… -DSTAMP=… -P install.cmake
# Several builds may share DIR. STAMP tells one build that it is done.
file(MAKE_DIRECTORY "${DIR}")
file(LOCK "${DIR}/lock" GUARD PROCESS)
file(SHA256 "${SOURCE}/package-lock.json" wanted)
set(installed "")
if(EXISTS "${DIR}/installed")
  file(READ "${DIR}/installed" installed)
endif()

if(NOT installed STREQUAL wanted)
  file(REMOVE "${DIR}/installed")
  file(COPY "${SOURCE}/package.json" "${SOURCE}/package-lock.json" "${SOURCE}/.npmrc" DESTINATION "${DIR}")
  execute_process(
    COMMAND "${NPM}" ci --loglevel=error --prefer-offline
    WORKING_DIRECTORY "${DIR}"
    OUTPUT_QUIET
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "npm ci failed: without a network, configure with -DDMA_PAGE=OFF")
  endif()
  file(WRITE "${DIR}/installed" "${wanted}")
endif()
file(TOUCH "${STAMP}")
