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
    /** @var array what the service answers: see Service::overview() */
    protected $overview = [];

    /** @var string empty: the button Open was not pressed, or the site has no secret */
    protected $ticket = '';

    /** @var string where the ticket is posted to */
    protected $action = '';

    private $isEntering = false;

    /** The button Open was pressed, and its form is this site's. */
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

        // Whatever layout the address asks for.
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
        // The service takes a ticket only from a page that says whose it is.
        $document->setMetaData('referrer', 'strict-origin-when-cross-origin');
        $document->getWebAssetManager()
            ->registerAndUseScript('com_licensing.enter', 'com_licensing/enter.js', [], ['defer' => true]);
    }

    private function ticketFor($app, string $purpose): string
    {
        $user = $app->getIdentity();

        return Ticket::make($purpose, (int) $user->id, (string) $user->username, (string) $app->get('secret'));
    }

    /** Also to an administrator in Austria or Switzerland. */
    private function speakGerman($language)
    {
        if (strpos($language->getTag(), 'de-') === 0 && $language->getTag() !== 'de-DE') {
            $language->load('com_licensing', \dirname(__DIR__, 3), 'de-DE', true, false);
        }
    }
}
