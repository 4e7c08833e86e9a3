<?php

/**
 * Plays a site's administrator for a browser: the installer's form, the menu and the component. Each request runs joomla.php
 * as a process of its own. The site's administrator/index.php includes this file, and sets $site: the "folder" of joomla.php,
 * the "root" that visitors see, "connect" and "ca" to reach it, the site's "secret", and the "user".
 */

function ask(array $site, array $step): array
{
    $command = ['php', '-d', 'display_errors=stderr', __DIR__ . '/joomla.php'];
    $pipes = [];
    $process = proc_open($command, [['pipe', 'r'], ['pipe', 'w'], ['pipe', 'w']], $pipes, null, ['PATH' => '/usr/bin:/bin']);
    $start = ['version' => '5.3', 'site' => $site['folder'], 'shop' => 'component', 'resolve' => []] + $site;
    $request = ['client' => 'administrator', 'language' => 'en-GB', 'steps' => [['shop' => $step]]] + $site;
    fwrite($pipes[0], json_encode($start) . "\n" . json_encode($request) . "\n");
    fclose($pipes[0]);
    $lines = explode("\n", stream_get_contents($pipes[1]));
    $fault = stream_get_contents($pipes[2]);

    if ($fault !== '') {
        http_response_code(500);
        exit($fault);
    }

    return json_decode($lines[1], true)[0];
}

/** Installs the package that the form of System > Install > Extensions sent. */
function installUpload(array $site): string
{
    $folder = "$site[folder]/tmp/" . bin2hex(random_bytes(4));
    mkdir($folder, 0700, true);
    $zip = escapeshellarg($_FILES['install_package']['tmp_name']);
    exec("/usr/bin/unzip -q $zip -d " . escapeshellarg($folder), $output, $status);

    if ($status !== 0) {
        return 'The package cannot be unpacked.';
    }

    ask($site, ['install' => $folder]);
    // Apache and PHP run as different users here.
    exec('chmod -R a+rX ' . escapeshellarg("$site[folder]/media"));

    return 'Installation of the component was successful.';
}

$said = isset($_FILES['install_package']) ? installUpload($site) : '';
$hasComponent = is_file("$site[folder]/administrator/components/com_licensing/licensing.xml");
$isComponent = ($_GET['option'] ?? '') === 'com_licensing' && $hasComponent;
$asked = ['get' => $_GET, 'post' => $_POST, 'secret' => $site['secret'], 'user' => $site['user'], 'may' => ['core.manage']];
$answer = $isComponent ? ask($site, $asked) : ['result' => ['title' => 'Extensions: Install', 'template' => 'index']];
$page = $answer['result'];
http_response_code($page['status'] ?? 200);
?>
<!doctype html>
<html lang="en-GB">
<head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <?php foreach ($page['meta'] ?? [] as $name => $content) : ?>
    <meta name="<?php echo $name; ?>" content="<?php echo $content; ?>">
    <?php endforeach; ?>
    <title><?php echo $page['title']; ?></title>
    <link rel="stylesheet" href="/media/vendor/bootstrap.min.css">
    <link rel="icon" href="data:,">
    <script>
        const dark = matchMedia('(prefers-color-scheme: dark)');
        (dark.onchange = () => (document.documentElement.dataset.bsTheme = dark.matches ? 'dark' : 'light'))();
    </script>
    <?php foreach ($page['scripts'] ?? [] as $script) : ?>
    <script defer src="/media/<?php echo preg_replace('#/#', '/js/', $script, 1); ?>"></script>
    <?php endforeach; ?>
</head>
<body>
<?php if ($page['template'] === 'index') : ?>
    <header class="navbar bg-body-tertiary border-bottom px-4"><span class="navbar-brand mb-0">Acme Extensions: Administrator</span></header>
    <div class="d-flex">
        <nav class="nav flex-column p-3 border-end" style="min-width: 13rem; min-height: 22rem">
            <span class="px-3 small text-body-secondary">System</span>
            <a class="nav-link" href="/administrator/index.php?option=com_installer">Install: Extensions</a>
            <?php if ($hasComponent) : ?>
            <span class="px-3 small text-body-secondary">Components</span>
            <a class="nav-link" href="/administrator/index.php?option=com_licensing">Licensing</a>
            <?php endif; ?>
        </nav>
        <main class="flex-fill p-4">
            <h1 class="h3 mb-3"><?php echo $page['title']; ?></h1>
            <?php if ($said !== '') : ?>
            <div class="alert alert-success" role="status"><?php echo $said; ?></div>
            <?php endif; ?>
<?php endif; ?>
<?php echo $answer['shown'] ?? ''; ?>
<?php if (!$isComponent) : ?>
            <form method="post" enctype="multipart/form-data">
                <label class="form-label" for="install_package">Upload Package File</label>
                <input class="form-control mb-3" type="file" name="install_package" id="install_package">
                <button class="btn btn-primary">Upload &amp; Install</button>
            </form>
<?php endif; ?>
<?php if ($page['template'] === 'index') : ?>
        </main>
    </div>
<?php endif; ?>
</body>
</html>
