<?php

/** Loads the library that Joomla ships for a PHP without sodium. This PHP has sodium, so the library must not use it. */

$library = __DIR__ . '/../../../node_modules/.cache/sodium_compat/autoload.php';

if (!is_file($library)) {
    fwrite(STDERR, "The library is not there. Run: sh test/support/install-programs.sh\n");
    exit(1);
}

require $library;

ParagonIE_Sodium_Compat::$disableFallbackForUnitTests = true;
