<?php

namespace Acme\Plugin\Content\Hello\Extension;

use Joomla\CMS\Plugin\CMSPlugin;
use Joomla\Event\EventInterface;
use Joomla\Event\SubscriberInterface;

\defined('_JEXEC') or die;

final class Hello extends CMSPlugin implements SubscriberInterface
{
    public static function getSubscribedEvents(): array
    {
        return ['onContentPrepare' => 'greet'];
    }

    public function greet(EventInterface $event): void
    {
        $arguments = array_values($event->getArguments());
        $article = $arguments[1];

        if ($arguments[0] === 'com_content.article' && isset($article->text)) {
            $article->text .= '<p>Hello from Acme.</p>';
        }
    }
}
