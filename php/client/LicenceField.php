<?php

namespace VendorName\Licensing;

use Joomla\CMS\Factory;
use Joomla\CMS\Form\FormField;
use Joomla\CMS\Session\Session;
use Joomla\CMS\Uri\Uri;

/**
 * The licence key in the options of a Joomla extension, with the state of the licence below it, and a button to activate
 * this site or to free its slot:
 *
 *     <field name="licence_key" type="Licence" addfieldprefix="VendorName\Licensing" label="..."
 *            client="Acme\Plugin\Content\Example\Licence"/>
 *
 * `client` is a class of the extension with `public static function client(): Client`.
 */
class LicenceField extends FormField
{
    const TEXTS = [
        'en' => [
            'save' => 'Save to see the licence.',
            'none' => 'The licence cannot be checked at the moment, or the key is not known.',
            'life' => 'Valid for life.',
            'until' => 'Valid until %s.',
            'ended' => 'The licence is not valid: %s.',
            'sites' => 'Sites: %1$s of %2$s.',
            'any' => 'Any number of sites.',
            'here' => 'This site is activated.',
            'not_here' => 'This site is not activated.',
            'activate' => 'Activate this site',
            'free' => 'Free this site',
            'done' => 'Done.',
            'NOT_TRUSTED' => 'The answer of the licence server could not be trusted.',
            'LICENSE_NOT_FOUND' => 'The key is not known.',
            'LICENSE_INACTIVE' => 'The licence is not active.',
            'LICENSE_EXPIRED' => 'The licence has ended.',
            'PRODUCT_MISMATCH' => 'The key is for another product.',
            'ACTIVATION_LIMIT_REACHED' => 'All sites of the licence are in use.',
            'ACTIVATION_HELD' => 'The slot is held by a licence file until that ends.',
            'away' => 'The licence server does not answer. Try again later.',
            'date' => 'Y-m-d',
        ],
        'de' => [
            'save' => 'Speichern Sie, um die Lizenz zu sehen.',
            'none' => 'Die Lizenz kann gerade nicht geprüft werden, oder der Schlüssel ist unbekannt.',
            'life' => 'Unbegrenzt gültig.',
            'until' => 'Gültig bis %s.',
            'ended' => 'Die Lizenz ist nicht gültig: %s.',
            'sites' => 'Websites: %1$s von %2$s.',
            'any' => 'Beliebig viele Websites.',
            'here' => 'Diese Website ist aktiviert.',
            'not_here' => 'Diese Website ist nicht aktiviert.',
            'activate' => 'Diese Website aktivieren',
            'free' => 'Diese Website freigeben',
            'done' => 'Erledigt.',
            'NOT_TRUSTED' => 'Der Antwort des Lizenzservers konnte nicht vertraut werden.',
            'LICENSE_NOT_FOUND' => 'Der Schlüssel ist unbekannt.',
            'LICENSE_INACTIVE' => 'Die Lizenz ist nicht aktiv.',
            'LICENSE_EXPIRED' => 'Die Lizenz ist abgelaufen.',
            'PRODUCT_MISMATCH' => 'Der Schlüssel gehört zu einem anderen Produkt.',
            'ACTIVATION_LIMIT_REACHED' => 'Alle Websites der Lizenz sind vergeben.',
            'ACTIVATION_HELD' => 'Der Platz gehört noch zu einer Lizenzdatei, bis diese endet.',
            'away' => 'Der Lizenzserver antwortet nicht. Versuchen Sie es später noch einmal.',
            'date' => 'd.m.Y',
        ],
    ];

    protected $type = 'Licence';

    protected function getInput()
    {
        $key = trim((string) $this->value);
        $html = '<input type="text" class="form-control" autocomplete="off" spellcheck="false" maxlength="190"'
            . ' id="' . $this->escape($this->id) . '" name="' . $this->escape($this->name) . '"'
            . ' value="' . $this->escape($key) . '">';

        return $html . '<div class="form-text">' . ($key === '' ? $this->text('save') : $this->state($key)) . '</div>';
    }

    /** What is known of the saved key. A button acts on the saved key too, not on what was typed since. */
    private function state(string $key): string
    {
        $factory = (string) $this->element['client'];
        $client = $factory::client();
        $said = $this->act($client, $key);
        $claims = $client->standing($key, Uri::root(), true);

        if ($claims === null) {
            return implode(' ', array_filter([$said, $said === '' ? $this->text('none') : '', $this->button('activate')]));
        }

        $isValid = ($claims['valid'] ?? null) === true;
        $isHere = ($claims['activated'] ?? null) === true;
        $lines = [$said, $isValid ? $this->validity($claims) : $this->text('ended', (string) ($claims['status'] ?? ''))];
        $lines[] = $this->sites($claims);
        $lines[] = $this->text($isHere ? 'here' : 'not_here');
        $lines[] = $isHere ? $this->button('free') : ($isValid ? $this->button('activate') : '');

        return implode(' ', array_filter($lines));
    }

    private function validity(array $claims): string
    {
        $end = $claims['license_exp'] ?? null;

        return is_int($end) ? $this->text('until', gmdate(self::TEXTS[$this->language()]['date'], $end)) : $this->text('life');
    }

    private function sites(array $claims): string
    {
        $limit = $claims['limit'] ?? null;

        if ($limit === 0) {
            return $this->text('any');
        }

        // A stored answer does not say how many are used.
        $used = $claims['used'] ?? null;

        return is_int($limit) && is_int($used) ? $this->text('sites', (string) $used, (string) $limit) : '';
    }

    /** Does what a button of this field asks for, once its form's token is right. */
    private function act(Client $client, string $key): string
    {
        $wanted = Factory::getApplication()->getInput()->post->get($this->id . '_action', '', 'cmd');

        if (!in_array($wanted, ['activate', 'free'], true) || !Session::checkToken()) {
            return '';
        }

        $site = Uri::root();
        $answer = $wanted === 'activate' ? $client->activate($key, $site) : $client->deactivate($key, $site);

        if ($answer['ok']) {
            return $this->text('done');
        }

        $code = (string) $answer['code'];

        return isset(self::TEXTS['en'][$code])
            ? $this->text($code)
            : ($code === '' ? $this->text('away') : $this->escape((string) $answer['message']));
    }

    /** Sends the form of the options to the page that is open, which changes none of them. */
    private function button(string $action): string
    {
        return '<button type="submit" class="btn btn-secondary btn-sm" formnovalidate formmethod="post"'
            . ' formaction="' . $this->escape((string) Uri::getInstance()) . '"'
            . ' name="' . $this->escape($this->id) . '_action" value="' . $action . '">' . $this->text($action) . '</button>';
    }

    /** As HTML. */
    private function text(string $name, string ...$values): string
    {
        return $this->escape(vsprintf(self::TEXTS[$this->language()][$name], $values));
    }

    private function language(): string
    {
        return strpos(Factory::getApplication()->getLanguage()->getTag(), 'de') === 0 ? 'de' : 'en';
    }

    private function escape(string $text): string
    {
        return htmlspecialchars($text, ENT_QUOTES, 'UTF-8');
    }
}
