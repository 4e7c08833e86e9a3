<?php

/** The library that Joomla has for a PHP without sodium. This PHP has sodium, so the library is told not to use it. */

require __DIR__ . '/../../../node_modules/.cache/sodium_compat/autoload.php';

ParagonIE_Sodium_Compat::$disableFallbackForUnitTests = true;
