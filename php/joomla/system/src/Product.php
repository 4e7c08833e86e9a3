<?php

namespace VendorName\Plugin\System\Licence0;

\defined('_JEXEC') or die;

/** The extension as Joomla stores it in #__extensions. */
final class Product
{
    const TYPE = 'ExtensionType';
    const ELEMENT = 'ExtensionElement';
    const FOLDER = 'ExtensionFolder';
    const CLIENT = 'ExtensionClient';
}
