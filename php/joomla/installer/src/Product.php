<?php

namespace VendorName\Plugin\Installer\Licence0;

\defined('_JEXEC') or die;

/** The product and its download address. */
final class Product
{
    const NAME = 'ProductName';

    const HOST = 'DownloadHost';
    const PORT = 'DownloadPort';
    const PATH = 'DownloadPath';

    /** The update XML that sites request; empty if it has no files for licences that ended. */
    const UPDATES = 'UpdateXmlAddress';

    /** The extension as Joomla stores it in #__extensions. */
    const TYPE = 'ExtensionType';
    const ELEMENT = 'ExtensionElement';
    const FOLDER = 'ExtensionFolder';
    const CLIENT = 'ExtensionClient';
}
