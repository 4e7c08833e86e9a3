<?php

namespace VendorName\Licensing;

use Joomla\CMS\Factory;
use Joomla\CMS\Form\FormField;
use Joomla\CMS\Session\Session;
use Joomla\CMS\Uri\Uri;

/**
 * The field for a licence key in the options of a Joomla extension. Below it are the state of the licence, and a button
 * that activates this site or frees its slot:
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
            'life' => 'Valid for life.',
            'until' => 'Valid until %s.',
            'sites' => 'Sites: %1$s of %2$s.',
            'any' => 'Any number of sites.',
            'here' => 'This site is activated.',
            'not_here' => 'This site is not activated.',
            'activate' => 'Activate this site',
            'free' => 'Free this site',
            'done' => 'Done.',
            'LICENSE_NOT_FOUND' => 'The vendor does not know this key. Compare it with the key that you were sent.',
            'LICENSE_INACTIVE' => 'The licence is not active. Ask the vendor why.',
            'LICENSE_EXPIRED' => 'The licence has ended. Renew it with the vendor.',
            'PRODUCT_MISMATCH' => 'The key is for another product. Enter the key of this one.',
            'ACTIVATION_LIMIT_REACHED' => 'All sites of the licence are in use. Free one that you no longer need.',
            'ACTIVATION_HELD' => 'A licence file holds the slot of this site until %s. Free it after that day, or ask the vendor.',
            'ACTIVATION_NOT_FOUND' => 'This site was not activated, so there is nothing to free.',
            'INVALID_REQUEST' => 'The licence server cannot use the key or the address of this site: %s Correct it, or ask the vendor.',
            'NOT_TRUSTED' => 'The answer of the licence server is not signed by the vendor. Update this extension, or ask the vendor.',
            'RATE_LIMITED' => 'This server has asked the licence server too often. Try again in a minute.',
            'refused' => 'The licence server says: %s Ask the vendor.',
            'away' => 'The licence server does not answer. Try again later.',
            'date' => 'Y-m-d',
        ],
        'de' => [
            'save' => 'Speichern Sie, um die Lizenz zu sehen.',
            'life' => 'Unbegrenzt gültig.',
            'until' => 'Gültig bis %s.',
            'sites' => 'Websites: %1$s von %2$s.',
            'any' => 'Beliebig viele Websites.',
            'here' => 'Diese Website ist aktiviert.',
            'not_here' => 'Diese Website ist nicht aktiviert.',
            'activate' => 'Diese Website aktivieren',
            'free' => 'Diese Website freigeben',
            'done' => 'Erledigt.',
            'LICENSE_NOT_FOUND' => 'Der Anbieter kennt diesen Schlüssel nicht. Vergleichen Sie ihn mit dem Schlüssel, den Sie erhalten haben.',
            'LICENSE_INACTIVE' => 'Die Lizenz ist nicht aktiv. Der Anbieter kann Ihnen den Grund nennen.',
            'LICENSE_EXPIRED' => 'Die Lizenz ist abgelaufen. Verlängern Sie sie beim Anbieter.',
            'PRODUCT_MISMATCH' => 'Der Schlüssel gehört zu einem anderen Produkt. Tragen Sie den Schlüssel für dieses ein.',
            'ACTIVATION_LIMIT_REACHED' => 'Alle Websites der Lizenz sind vergeben. Geben Sie eine frei, die Sie nicht mehr brauchen.',
            'ACTIVATION_HELD' => 'Eine Lizenzdatei hält den Platz dieser Website bis %s. Geben Sie ihn nach diesem Tag frei, oder fragen Sie den Anbieter.',
            'ACTIVATION_NOT_FOUND' => 'Diese Website war nicht aktiviert, es gibt also nichts freizugeben.',
            'INVALID_REQUEST' => 'Der Lizenzserver kann den Schlüssel oder die Adresse dieser Website nicht verwenden: %s Berichtigen Sie die Angabe, oder fragen Sie den Anbieter.',
            'NOT_TRUSTED' => 'Die Antwort des Lizenzservers ist nicht vom Anbieter signiert. Aktualisieren Sie diese Erweiterung, oder fragen Sie den Anbieter.',
            'RATE_LIMITED' => 'Dieser Server hat den Lizenzserver zu oft gefragt. Versuchen Sie es in einer Minute noch einmal.',
            'refused' => 'Der Lizenzserver meldet: %s Fragen Sie den Anbieter.',
            'away' => 'Der Lizenzserver antwortet nicht. Versuchen Sie es später noch einmal.',
            'date' => 'd.m.Y',
        ],
    ];

    /** Temporary faults of the service. */
    const PASSING = ['', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'];

    protected $type = 'Licence';

    protected function getInput()
    {
        $key = trim((string) $this->value);
        $html = '<input type="text" class="form-control" autocomplete="off" spellcheck="false" maxlength="190"'
            . ' id="' . $this->escape($this->id) . '" name="' . $this->escape($this->name) . '"'
            . ' value="' . $this->escape($key) . '">';

        return $html . '<div class="form-text">' . ($key === '' ? $this->text('save') : $this->state($key)) . '</div>';
    }

    /** Returns the state of the saved key. A button also acts on the saved key, not on unsaved input. */
    private function state(string $key): string
    {
        $factory = (string) $this->element['client'];
        $client = $factory::client();
        $said = $this->act($client, $key);
        $answer = $client->validate($key, Uri::root());
        $lines = [$said, $answer['ok'] ? '' : $this->refusal($answer)];
        $claims = $answer['claims'];

        if ($claims === null && !in_array($answer['code'], Client::REFUSALS, true)) {
            // Use the stored answer instead.
            $claims = $client->standing($key, Uri::root());
        }

        $isValid = ($claims['valid'] ?? null) === true;
        $isHere = ($claims['activated'] ?? null) === true;

        if ($claims !== null) {
            $lines[] = $isValid ? $this->validity($claims) : $this->text($this->ended($claims));
            $lines[] = $this->sites($claims);
            $lines[] = $this->text($isHere ? 'here' : 'not_here');
        }

        if ($isHere || $isValid || $claims === null) {
            $lines[] = $this->button($isHere ? 'free' : 'activate');
        }

        return implode(' ', array_unique(array_filter($lines)));
    }

    private function validity(array $claims): string
    {
        $end = $claims['license_exp'] ?? null;

        return is_int($end) ? $this->text('until', $this->day($end)) : $this->text('life');
    }

    /** Returns the reason that a licence is not valid: the code with which a download would be refused. */
    private function ended(array $claims): string
    {
        $status = $claims['status'] ?? null;

        return $status === 'active' ? 'PRODUCT_MISMATCH' : ($status === 'expired' ? 'LICENSE_EXPIRED' : 'LICENSE_INACTIVE');
    }

    private function sites(array $claims): string
    {
        $limit = $claims['limit'] ?? null;

        if ($limit === 0) {
            return $this->text('any');
        }

        // A stored answer does not contain the number of used slots.
        $used = $claims['used'] ?? null;

        return is_int($limit) && is_int($used) ? $this->text('sites', (string) $used, (string) $limit) : '';
    }

    /** Performs the action of a button of this field, if the form's token is valid. */
    private function act(Client $client, string $key): string
    {
        $wanted = Factory::getApplication()->getInput()->post->get($this->id . '_action', '', 'cmd');

        if (!in_array($wanted, ['activate', 'free'], true) || !Session::checkToken()) {
            return '';
        }

        $site = Uri::root();
        $answer = $wanted === 'activate' ? $client->activate($key, $site) : $client->deactivate($key, $site);

        return $answer['ok'] ? $this->text('done') : $this->refusal($answer);
    }

    /** Returns the sentence of a refusal, with advice. */
    private function refusal(array $answer): string
    {
        $code = (string) $answer['code'];

        if (in_array($code, self::PASSING, true)) {
            return $this->text('away');
        }

        if ($code === 'ACTIVATION_HELD') {
            return $this->text($code, $this->day((int) strtotime((string) ($answer['data']['held_until'] ?? ''))));
        }

        $isKnown = isset(self::TEXTS['en'][$code]) && $code === strtoupper($code);

        return $this->text($isKnown ? $code : 'refused', (string) $answer['message']);
    }

    private function day(int $time): string
    {
        return gmdate(self::TEXTS[$this->language()]['date'], $time);
    }

    /** Returns a button that posts the form of the options to the current page, which does not save them. */
    private function button(string $action): string
    {
        return '<button type="submit" class="btn btn-secondary btn-sm" formnovalidate formmethod="post"'
            . ' formaction="' . $this->escape((string) Uri::getInstance()) . '"'
            . ' name="' . $this->escape($this->id) . '_action" value="' . $action . '">' . $this->text($action) . '</button>';
    }

    /** Returns a text, escaped for HTML. */
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
