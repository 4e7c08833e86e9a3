<?php
// The secret is in a file that the web server does not serve: in the folder above this script.
$key = base64_decode(substr(trim(file_get_contents(dirname(__DIR__) . '/webhook-secret.txt')), strlen('whsec_')));
[$id, $time, $given] = array_map(fn ($name) => $_SERVER["HTTP_WEBHOOK_$name"] ?? '', ['ID', 'TIMESTAMP', 'SIGNATURE']);
$body = file_get_contents('php://input');
$mine = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$time.$body", $key, true));
$equal = array_filter(explode(' ', $given), fn ($one) => hash_equals($mine, $one));
if ($key === '' || $equal === [] || abs(time() - (int) $time) > 300) {
    http_response_code(401);
    exit;
}
$event = json_decode($body, true);
file_put_contents(dirname(__DIR__) . '/webhooks.log', "$id {$event['type']}\n", FILE_APPEND | LOCK_EX);
http_response_code(204);
