<?php

/**
 * Calls the PHP client. It reads lines of JSON {"folder","namespace","site","product","keys","store","ca","seconds","now",
 * "calls":[[method, arguments...],...]}, and answers each line with a line of the calls' results.
 */

set_error_handler(function ($level, $message, $file, $line) {
    // The client silences PHP's warnings about a full disk or a dead host, so only other ones are faults.
    if (error_reporting() & $level) {
        throw new ErrorException($message, 0, $level, $file, $line);
    }

    return false;
});

$in = null;
spl_autoload_register(function ($class) use (&$in) {
    if (strpos($class, $in['namespace'] . '\\') === 0) {
        require $in['folder'] . str_replace('\\', '/', substr($class, strlen($in['namespace']))) . '.php';
    }
});

while (($line = fgets(STDIN)) !== false) {
    // A new request must see the present files, as in a web server.
    clearstatcache();
    $in = json_decode($line, true);
    $names = [];

    foreach (['Client', 'Store', 'Transport'] as $name) {
        $names[$name] = $in['namespace'] . '\\' . $name;
    }

    $client = new $names['Client'](
        $in['site'],
        $in['product'],
        $in['keys'],
        new $names['Store']($in['store']),
        new $names['Transport']($in['seconds'], $in['ca'] ?? null),
        function () use ($in) {
            return $in['now'];
        }
    );
    $results = [];

    foreach ($in['calls'] as $call) {
        $method = array_shift($call);
        $start = microtime(true);
        $result = $client->$method(...$call);
        $results[] = ['result' => $result, 'seconds' => microtime(true) - $start];
    }

    echo json_encode($results, JSON_UNESCAPED_SLASHES), "\n";
}
