<?php

namespace LicensingGateway\Component\Licensing\Administrator\Controller;

use Joomla\CMS\MVC\Controller\BaseController;

\defined('_JEXEC') or die;

/** Shows what needs the seller's attention, and signs the user in to the pages. Joomla requires core.manage first. */
class DisplayController extends BaseController
{
    protected $default_view = 'licensing';

    /** Answers the Open button with a form that posts a ticket. The ticket is only created now. */
    public function open()
    {
        $this->checkToken();
        $this->input->set('view', 'licensing');
        $this->input->set('tmpl', 'component');
        // This is the view that display() shows.
        $this->getView('licensing', 'html', '', ['base_path' => $this->basePath])->enter();

        return $this->display();
    }
}
