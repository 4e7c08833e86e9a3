<?php

namespace LicensingGateway\Component\Licensing\Administrator\View\Licensing;

use Joomla\CMS\Factory;
use Joomla\CMS\Language\Text;
use Joomla\CMS\MVC\View\HtmlView as BaseHtmlView;
use Joomla\CMS\Toolbar\ToolbarHelper;
use Joomla\CMS\Uri\Uri;
use LicensingGateway\Component\Licensing\Administrator\Service;
use LicensingGateway\Component\Licensing\Administrator\Ticket;

\defined('_JEXEC') or die;

class HtmlView extends BaseHtmlView
{
    /** @var array the service's answer: see Service::overview() */
    protected $overview = [];

    /** @var string the ticket; empty unless the Open button was pressed and the site has a secret */
    protected $ticket = '';

    /** @var string the address to which the ticket is posted */
    protected $action = '';

    private $isEntering = false;

    /** Shows the form with the ticket. The controller has checked that this site's Open button was pressed. */
    public function enter()
    {
        $this->isEntering = true;
    }

    public function display($tpl = null)
    {
        $app = Factory::getApplication();
        $this->speakGerman($app->getLanguage());
        ToolbarHelper::title(Text::_('COM_LICENSING'), 'key');
        $this->overview = Service::overview($this->ticketFor($app, 'overview'));

        if ($this->isEntering) {
            $this->prepareEntering($app);
        } elseif ($app->getIdentity()->authorise('core.admin', 'com_licensing')) {
            ToolbarHelper::preferences('com_licensing');
        }

        // Ignore the layout in the address.
        $this->setLayout($this->isEntering ? 'enter' : 'default');

        parent::display($tpl);
    }

    private function prepareEntering($app)
    {
        $this->ticket = $this->ticketFor($app, 'enter');
        $this->action = $this->overview['enter'] !== ''
            ? $this->overview['enter']
            : Uri::root(true) . Service::PATH;
        $this->action .= $this->overview['enter'] !== '' ? '' : '/pages/enter-joomla';
        $document = $app->getDocument();
        // The service accepts a ticket only from a page that sends its origin.
        $document->setMetaData('referrer', 'strict-origin-when-cross-origin');
        $document->getWebAssetManager()
            ->registerAndUseScript('com_licensing.enter', 'com_licensing/enter.js', [], ['defer' => true]);
    }

    private function ticketFor($app, string $purpose): string
    {
        $user = $app->getIdentity();

        return Ticket::make($purpose, (int) $user->id, (string) $user->username, (string) $app->get('secret'));
    }

    /** Loads the German texts for German of another country too, such as Austria or Switzerland. */
    private function speakGerman($language)
    {
        if (strpos($language->getTag(), 'de-') === 0 && $language->getTag() !== 'de-DE') {
            $language->load('com_licensing', \dirname(__DIR__, 3), 'de-DE', true, false);
        }
    }
}
