<?php

namespace LicensingGateway\Component\Licensing\Administrator\Controller;

use Joomla\CMS\MVC\Controller\BaseController;

\defined('_JEXEC') or die;

/** Shows what needs the seller, and passes who is signed in on to the pages. Joomla asks for core.manage first. */
class DisplayController extends BaseController
{
    protected $default_view = 'licensing';

    /** Answers the button Open by a form that posts a ticket, which is made only now. */
    public function open()
    {
        $this->checkToken();
        $this->input->set('view', 'licensing');
        $this->input->set('tmpl', 'component');
        // The view that display() shows.
        $this->getView('licensing', 'html', '', ['base_path' => $this->basePath])->enter();

        return $this->display();
    }
}
