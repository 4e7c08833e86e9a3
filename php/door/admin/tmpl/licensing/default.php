<?php

use Joomla\CMS\HTML\HTMLHelper;
use Joomla\CMS\Language\Text;
use Joomla\CMS\Router\Route;
use Joomla\CMS\Uri\Uri;
use LicensingGateway\Component\Licensing\Administrator\Service;

\defined('_JEXEC') or die;

/** @var \LicensingGateway\Component\Licensing\Administrator\View\Licensing\HtmlView $this */

HTMLHelper::_('behavior.keepalive');

$waiting = array_filter($this->overview['figures']);
$host = (string) Uri::getInstance(Uri::root())->getHost();
?>
<div class="card">
    <div class="card-body">
        <?php if ($this->overview['state'] === 'unreached') : ?>
            <h2><?php echo Text::_('COM_LICENSING_UNREACHED'); ?></h2>
            <p><?php echo sprintf(
                $this->escape(Text::_('COM_LICENSING_UNREACHED_WHY')),
                '<code>' . $this->escape(Service::address()) . '</code>'
            ); ?></p>
            <dl>
                <dt><?php echo Text::_('COM_LICENSING_HOSTED'); ?></dt>
                <dd><p><?php echo Text::_('COM_LICENSING_HOSTED_LINES'); ?></p>
                    <pre><code>RewriteRule ^licensing-app(/|$) - [L]
RewriteRule ^api/index\.php/v1/licensing(/.*)?$ licensing-app<?php echo Service::PATH; ?>$1 [L]</code></pre></dd>
                <dt><?php echo Text::_('COM_LICENSING_WITH_COMMAND'); ?></dt>
                <dd><pre><code>licensing setup</code></pre></dd>
                <dt>nginx</dt>
                <dd><pre><code>licensing nginx --server-name <?php echo $this->escape($host); ?> --out /etc/nginx/licensing

# http { }
include /etc/nginx/licensing/upstream.conf;
# server { }
include /etc/nginx/licensing/licensing.conf;</code></pre></dd>
                <dt>Apache</dt>
                <dd><pre><code># &lt;VirtualHost&gt;
Include /etc/apache2/licensing.conf</code></pre></dd>
                <dt>.htaccess</dt>
                <dd><pre><code>RewriteEngine On
RewriteRule ^api/index\.php/v1/licensing(/.*)?$ http://127.0.0.1:3080<?php echo Service::PATH; ?>$1 [P,L]</code></pre>
                    <p><?php echo Text::_('COM_LICENSING_HTACCESS'); ?></p></dd>
            </dl>
        <?php elseif ($this->overview['state'] === 'refused') : ?>
            <p><?php echo Text::_('COM_LICENSING_REFUSED'); ?></p>
        <?php elseif ($this->overview['state'] === 'silent') : ?>
            <p><?php echo Text::_('COM_LICENSING_SILENT'); ?></p>
        <?php elseif (!$waiting) : ?>
            <p><?php echo Text::_('COM_LICENSING_NOTHING'); ?></p>
        <?php else : ?>
            <ul>
                <?php foreach ($waiting as $name => $count) : ?>
                    <li><?php echo Text::_('COM_LICENSING_' . strtoupper($name)); ?>: <strong><?php echo (int) $count; ?></strong></li>
                <?php endforeach; ?>
            </ul>
        <?php endif; ?>
        <?php if ($this->overview['state'] !== 'unreached') : ?>
            <form action="<?php echo Route::_('index.php?option=com_licensing'); ?>" method="post">
                <input type="hidden" name="task" value="open">
                <?php echo HTMLHelper::_('form.token'); ?>
                <button type="submit" class="btn btn-primary"><?php echo Text::_('COM_LICENSING_OPEN'); ?></button>
            </form>
        <?php endif; ?>
    </div>
</div>
