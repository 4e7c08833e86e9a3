<?php

use Joomla\CMS\Language\Text;

\defined('_JEXEC') or die;

/** @var \LicensingGateway\Component\Licensing\Administrator\View\Licensing\HtmlView $this */
?>
<?php if ($this->ticket === '') : ?>
    <p><?php echo Text::_('COM_LICENSING_NO_SECRET'); ?></p>
<?php else : ?>
    <form id="licensing-enter" action="<?php echo $this->escape($this->action); ?>" method="post">
        <input type="hidden" name="ticket" value="<?php echo $this->escape($this->ticket); ?>">
        <p><?php echo Text::_('COM_LICENSING_ENTERING'); ?></p>
        <button type="submit" class="btn btn-primary"><?php echo Text::_('COM_LICENSING_GO_ON'); ?></button>
    </form>
<?php endif; ?>
