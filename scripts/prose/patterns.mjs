/** The patterns of odd English that `npm run prose` reports. A sentence without a hit may still be bad; a hit has to be read twice. */

/** Ends a clause: what follows a word that has nothing after it. */
const END = String.raw`(?=\s*(?:[.,;:)!?]|$))`;
const BE = String.raw`(?:is|are|was|were|be|been|being)`;

/** A sentence whose subject is a clause with "what". */
const IS_WHAT =
  /^(?:What|Who) (?:[\w`'-]+ ){0,3}?(?:is|are|was|were|has|had|comes?|came|stands?|counts?|waits?|goes|ended|does not|may|can|[\w]{3,}s|[\w]{3,}ed|told|sent) (?:[\w`'-]+,? ){0,9}?(?:is|are|was|were|has|have|stays?|goes|counts|gets?|waits?|may|can|must|does|belongs?|comes|ends|copies)\b [^?]*$/;

/**
 * Each is looked for once in a sentence. `at`: 'start' of the first sentence of a comment or paragraph, 'only' when that
 * is its only sentence, 'sentence' at the beginning of any sentence; by default anywhere. `kinds`: comment (a comment's
 * own text), tag (@param and the like), prose (Markdown, and further paragraphs of a comment), cell, string.
 * `ctx`: 'function' for a doc comment above a function, 'doc' for any doc comment. `strict`: only with --strict.
 * `opening`: only the first of these is reported for a sentence.
 */
export const PATTERNS = [
  // -- negation and existence
  {
    name: 'is-none',
    re: new RegExp(
      String.raw`(?<!\bthere )\b(?:${BE}|has|have|had|needs?|gets?|finds?|knows?|makes?|gives?|takes?|holds?|keeps?|sends?|means?|leaves?) none\b(?! of| other| the less|theless|-)(?<!\bdefault(?: value)? is none)`,
      'i',
    ),
    hint: '"that is none" -> "that is not an X"; "has none" -> "has no X"',
  },
  { name: 'none-too', re: /\b(?:none|no) too\b/i, hint: 'say "also" and name the thing' },
  {
    name: 'is-no',
    re: /(?<!\b(?:there|where|it|should|must|will|would|can|may|could|might)(?:'s)?(?: (?:will|would|should|must|can|may|might|could|to))? )(?<!\b(?:should|must|will|would|to) )\b(?:is|are|was|were|be) no (?!longer\b|more than\b|less\b|later\b|earlier\b|further\b|different|better|worse|exception|match\b|one\b|use\b|need\b|way\b|doubt|good\b|problem|larger|smaller|greater|wider|newer|older|faster|slower|other than|iteration|throttle)[a-z`]/i,
    hint: '"is no X" -> "is not an X"',
  },
  {
    name: 'it-is-no',
    re: /\bit (?:is|was) no (?!longer\b|more\b|use\b|wonder|good\b|accident|coincidence|problem|secret|surprise|different|better|less)\w/i,
    hint: '"it is no X" -> "it is not an X"',
  },
  {
    name: 'is-no-more',
    re: new RegExp(String.raw`\b(?:${BE}|has|have|had|does|do|can|may|will|exists?) no more${END}`, 'i'),
    hint: '"no more" -> "no longer"',
  },
  {
    name: 'no-x-any-more',
    re: /\b(?:no|none|nobody|nothing|never) (?:[\w-]+ ){0,4}any ?more\b/i,
    hint: '-> "no longer"',
  },
  {
    name: 'is-there',
    re: new RegExp(
      String.raw`\b(?:that|which|who|it|they|one|row|file|what|those|these|key|folder|table) (?:is|are|was|were) (?:not |already |still |yet |now )*there(?: (?:already|yet|now|still|too|alone))?${END}`,
      'i',
    ),
    hint: '-> "exists"',
  },
  {
    name: 'are-gone',
    re: /\b(?:that|which|who|those that|what) (?:is|are|was|were) gone\b/i,
    hint: '-> "deleted", "missing"',
  },
  {
    name: 'nobody',
    re: new RegExp(
      String.raw`\b(?:is|are|was|of|to|from|about|for|by|reaches|harms|asks?|tells?|waits? for) nobody\b|\bnobody's\b|\bnobody(?: else)? (?:waits|asks|looks|reads|tells|told|knows|knew|acts|called|offers|wants|needs|has|was|may|sees|gets)\b|\bNobody is `,
      'i',
    ),
    hint: 'name the actor: "no customer", "no process"; the passive is fine',
  },
  {
    name: 'somebody',
    re: /\bsomebody(?:'s)?\b|\beverybody(?:'s)?\b/i,
    hint: 'name the role: the seller, the caller, another instance; else "someone"',
  },
  { name: 'whoever', re: /\bwho(?:m|so)?ever\b/i, hint: 'name the actor: "the caller", "anyone who"' },
  {
    name: 'of-who',
    re: /(?<!\b(?:depending on|regardless of|irrespective of|idea of|question of|matter of|record of|track of|knowledge of|control over|details of|list of|history of|aware of|in terms of|care|about|know|tell|see|say) ?)\b(?:of|to|for|by|as|from|with|than|at) who (?:is|are|was|has|had|have|may|can|does|asks?|sent|sends?|reads?|calls?|gives?|gave|wants?|buys?|bought|knows?|made|makes?|comes?|came|gets?|got|types?|typed|needs?|takes?|took|uses?|used|decides?|pays?|paid|writes?|wrote|runs?|ran|sees?|saw|opens?|opened|looks?|waits?)\b/,
    hint: '"to who sent it" -> "to the sender"',
  },

  // -- word order and fragments
  {
    name: 'function-fragment',
    opening: true,
    at: 'start',
    kinds: ['comment'],
    ctx: 'function',
    re: /^(?:What|Whether(?! or not)|Which|Who|Whom|Whose|Where|Why|How(?! (?:to|many|much|long)\b)|Of|By|As(?! (?:long|soon)\b)|Those|Like (?!`http)|Also|Not|None|Nothing|Only(?! if)|Everything|From|Until)\b/,
    hint: 'a function\'s comment begins with a verb: "Returns ...", "Reports whether ...", "Lists ... by ..."',
  },
  {
    name: 'whether-head',
    opening: true,
    at: 'start',
    kinds: ['comment'],
    ctx: 'doc',
    re: /^Whether\b(?! or not)/,
    hint: 'write a noun or a verb: "True if ...", "Shows whether ...", "Reports whether ..."',
  },
  {
    name: 'the-same',
    opening: true,
    at: 'start',
    kinds: ['comment', 'tag'],
    re: /^[Tt]he same(?:\.|,| (?:of|for|with|as|by|to|from|in|once|without|where|when|at)\b)/,
    hint: 'say the same as what, and how it differs: "Like `x`, but ..."',
  },
  {
    name: 'is-what',
    opening: true,
    at: 'sentence',
    kinds: ['prose', 'comment', 'tag', 'string', 'cell'],
    test: (s, original) => !/^\*\*[^*]*:?\*\*/.test(original) && IS_WHAT.test(s),
    hint: 'name the subject: "What is bought is ..." -> "A sold article must ..."',
  },
  {
    name: 'fronted-of',
    opening: true,
    at: 'sentence',
    re: /^Of (?!course\b|note\b|particular\b|interest\b|special\b)(?:the|a|an|several|these|those|them|each|all|its|their|which|one|two|what|such|this|that|some|many|any|his|our|other|equals|licen[cs]es|customers?|keys?|orders?|sites|mails?|every)\b/,
    hint: 'put the subject first',
  },
  {
    name: 'of-which',
    re: /(?<!, (?:the|a|an) [\w-]+(?: [\w-]+)? )(?<!\b(?:one|two|three|both|all|some|each|any|most|none|neither|either|other|many|several|few|regardless|irrespective|part|list|number|rest|half|third|selection|suppressed|values?|results?|knowledge|choice|aware|unaware|record|track|majority|subset|sum|names?|size|length|first|last|latter|end|top|sort|instances?|independent|purpose|effect|copy|copies|elements|consequence|details|type|contents|matter|question|sense|understanding|idea|groups|abortsignal.s) )\bof (?:which|whom) \b(?!version|one\b|ones\b|kind|type|there are quite)/i,
    hint: 'split the sentence; name the thing',
  },
  {
    name: 'and-of',
    re: /, (?:and|but|or) of (?:a|an|the|each|its|those|these|that|several) [\w`-]+(?: [\w`-]+)? (?:a|an|the|only|all|its|no|every|each|those|what|one)\b/i,
    hint: 'put the subject first',
  },
  {
    name: 'starts-lower-of',
    opening: true,
    at: 'start',
    kinds: ['comment', 'tag'],
    re: /^of (?:the|a|an|this|that|these|those|each|all|its|their|who|what|which|several|one|no|both|such|every)\b/,
    hint: 'write a noun: "the key\'s owner", "the time of ..."',
  },
  {
    name: 'wh-fragment',
    opening: true,
    at: 'sentence',
    kinds: ['comment', 'prose'],
    test: (s, original) =>
      !/^\*\*[^*]*:?\*\*/.test(original) &&
      /^(?:What|Who|Whom|Whose)\b(?! (?:if|about|else|matters|happens|follows|belongs|type of|to CC)\b)/.test(
        s,
      ) &&
      !/[?:]["')]*$/.test(s) &&
      !/^What(?:'s| is)? (?:more|new)\b/.test(s) &&
      s.split(/\s+/).length > 2,
    hint: 'begin with the subject: "Returns ...", "The fields that ...", "Anyone who ..."',
  },
  {
    name: 'where-fragment',
    opening: true,
    at: 'only',
    kinds: ['comment'],
    re: /^(?:Where|Why|Whence|Whither)\b(?! (?:possible|applicable|appropriate|available|necessary|supported|to|clause|modifiers)\b)[^,?:]*\.?$/i,
    filter: (m) => /^[WA-Z]/.test(m),
    hint: 'write a noun or a verb: "The directory of ...", "Explains why ..."',
  },
  {
    name: 'fragment-lower',
    opening: true,
    at: 'start',
    kinds: ['comment', 'tag'],
    re: /^(?:what|whose|whom|who|whence|why|told|than|those)\b(?! (?:to|is wrong)\b)/,
    hint: 'write a noun phrase: "the fields that ...", "the reason for ..."',
  },
  {
    name: 'by-fragment',
    opening: true,
    at: 'only',
    kinds: ['comment'],
    re: /^[Bb]y (?!default)[^,;:]{1,60}\.?$/,
    hint: '"Sorted by ...", "Keyed by ...", "Indexed by ..."',
  },
  {
    name: 'as-fragment',
    opening: true,
    at: 'only',
    kinds: ['comment', 'tag'],
    re: /^[Aa]s (?!long|soon|of|well|far|such|per|many|much|may be|an?\b)[^,;:]{3,90}\.?$/,
    hint: '"in the form that ...", "the same as ...", or a full sentence',
  },
  {
    name: 'not-fragment',
    opening: true,
    at: 'sentence',
    kinds: ['comment', 'prose'],
    re: /^Not (?:as|at|by|in|before|after|with|from|for|on|of|when|until|among|to|what|one|those|that)\b[^,]*[.:]/,
    hint: 'write a full sentence: "Do not ... because ..."',
  },
  {
    name: 'also-fragment',
    opening: true,
    at: 'sentence',
    kinds: ['comment', 'prose'],
    re: /^Also (?:when|where|for|of|one|those|a|after|before|if|by|from|what|who|again|at|in)\b[^,]*\.?$/,
    hint: 'write a full sentence',
  },
  {
    name: 'pronoun-first',
    opening: true,
    at: 'start',
    kinds: ['comment'],
    ctx: 'doc',
    re: /^(?:It|They|Its|Their|Them|Those|Others|Neither|None|Nobody|Somebody|Everybody|He|His|One (?:that|who|whose)|That of|The others?\b(?! \w))\b(?!'s)(?! doesn)/,
    hint: 'name the thing; a pronoun needs a noun before it',
  },
  {
    name: 'those-first',
    opening: true,
    at: 'sentence',
    kinds: ['prose', 'comment', 'tag'],
    re: /^(?:(?:Those|Ones|Others) (?:of|that|whose|which|with|in|by|from|it|they)|One (?:that|who|whose|which)|That of) (?!the two|them)\w+/,
    hint: 'repeat the noun: "Keys that ..." instead of "Those that ..."',
  },
  {
    name: 'whatever-first',
    opening: true,
    at: 'sentence',
    re: /^(?:Whatever|Whichever)\b[^,]*\.?$/,
    hint: 'write a full sentence with a subject',
  },
  {
    name: 'as-has-it',
    re: /\bas (?:[\w`./'-]+ ){1,5}(?:has|have|had|says?|takes?|wants?|sends?) (?:it|them)\b/i,
    hint: '"in the form that X uses"',
  },
  {
    name: 'is-as',
    re: /\b(?:is|are|was|were) (?:still |already )?as (?:the |a |an )?[\w`'-]+(?: [\w`'-]+){0,2} (?:has|had|have|made|left|says?|wrote|takes?|sends?|sees?|counts?)\b/i,
    hint: '"unchanged since X", "in the form of X"',
  },
  {
    name: 'so-many',
    re: /\bso (?:many|few)\b(?! (?:that|as|more|different|other|things|ways|levels|reasons|options)\b)(?![^.;:]{0,60}\b(?:that|as)\b)|\b(?:in|for|times|of) as many\b(?! as)/i,
    hint: 'give the number or name it: "at least N", "N days"',
  },
  {
    name: 'so-long',
    re: new RegExp(
      String.raw`(?<!\b(?:take|takes|taking|took|taken) )\bso (?:long|late|often|early)${END}|\b(?:waits?|kept|lives?|lasts?|late|after|for|within) so (?:long|late)\b(?! as| that)|^So (?:long|late) (?!as)`,
      'i',
    ),
    hint: 'give the time',
  },
  {
    name: 'such-as-said',
    re: /\b(?:so|thus) (?:written|spelled|named|called|found|stored|claimed|kept|told|made|marked|begun|set)\b(?! (?:that|as|far)\b)/i,
    hint: '"in this form", "this way"',
  },
  {
    name: 'alone',
    re: new RegExp(String.raw`\b(?:of|by|for|to|in|from|with|at|on) (?:[\w\x60'-]+ ){1,3}alone${END}`, 'i'),
    hint: '"only": "for operators only"',
  },
  {
    name: 'in-words',
    re: /\bin words(?: (?:alone|that|for|of|with)\b|(?= *[.,;:)]))/i,
    hint: '"as text", "as a sentence"',
  },
  {
    name: 'predicate-possessive',
    re: new RegExp(
      String.raw`\b(?:is|are|was|were|becomes?|stays?|remains?|be) (?:(?:the |an? |this |that |no )?[\w-]+)'s?(?: own)?${END}|\b(?:is|are|was|were) root's\b`,
      'i',
    ),
    filter: (m) => /'s|s'/.test(m) && !/\b(?:what|that|it|there|here|who|he|she|let|parameter)'s\b/i.test(m),
    hint: '"belongs to X", "run as root"',
  },
  {
    name: 'possessive-subject',
    re: /\b(?:a|an|the|each|another|other) (?!following|only|same)[\w-]+'s (?:is|are|has|have|had|was|were|may|can|do|does|goes|counts|stands|comes|stays|wins?)\b/i,
    hint: 'repeat the noun: "an operator\'s form has ..."',
  },
  {
    name: 'ours-theirs',
    re: new RegExp(
      String.raw`\b(?:one|plan|key|shape|list|system|text|page|path|tokens?|product|licen[cs]e|keys|format|another|file|table)s? of (?:ours|theirs)\b|\b(?:ours|theirs) (?:has|have|by|of|alone|too|where|as)\b|\b(?:from|as|by|to|than|for|else|are|is|of) (?:ours|theirs)${END}`,
      'i',
    ),
    hint: 'name the owner: "our own key format"',
  },

  // -- prepositions
  {
    name: 'of-for-about',
    re: /\b(?:known|stored|recorded|said|told|learns?|remembered|remembers|knows?(?: nothing| anything| something| only| more)?|knew(?: nothing)?|says?(?: nothing| more| anything)?|tells?(?: nothing| more| anything)?|reads?(?: nothing)?|is left|was left|are left|asks) of (?:an?|the|it|its|them|their|each|that|this|these|those|what|licen[cs]es?|customers?|orders?|keys?|some|any|one|his|our|your)\b/i,
    hint: '"about", "for", "from": "what is known about a customer"',
  },
  {
    name: 'prep-what',
    re: /\b(?:with|by|from|beside|than|of|at) what (?:is|are|was|were|it|they|comes?|came|follows|the|a|has|had|somebody|whoever|stands|waits|belongs|goes|\w+s) (?!left\b|like\b|going\b|happening|wrong|expected|possible|allowed|available|documented|needed|required|we\b|you\b)\w+/i,
    filter: (m) =>
      !/\b(?:of|from|than|with|at) what (?:the|a|it|they|is|are|was|were|has|had) (?:\w+ ?)$/.test(m) ||
      /\bby what\b|\bbeside what\b|with what\b/.test(m),
    hint: 'name the thing: "with the fields that ..."',
  },
  {
    name: 'until-when',
    re: /\b(?:until|since|from) when\b(?!ever)/i,
    hint: '"the time until which", "expiry time"',
  },
  { name: 'another-than', re: /\banother than\b/i, hint: '"other than", "different from"' },
  {
    name: 'each-once',
    re: /\beach once\b|\bonce each\b(?! time)/i,
    hint: '"without duplicates", "once per X"',
  },
  {
    name: 'as-far-as',
    re: /\bas far as (?:it|they|that) (?:has|have|can be|holds?|is|are|fits?|decides?|does|goes)\b/i,
    hint: '"where known", "if possible", "to the extent that"',
  },

  // -- verbs with a private or dated meaning
  {
    name: 'stands',
    re: /\b(?<!(?:long|out|free|under|with|up)[- ]?)(?:stands?|stood)(?!-) (?:in(?! for\b| contrast| line| the way)|on(?! its own| top of each)|at|there|above|below|beside|between|behind|before|first|last|alone in|here|under|as|where|instead|ready)\b|\b(?:as|what|that|which|how|where) (?:it |they |he |one )?(?:stands?|stood)\b(?!-)(?! for| out| up| by| to| alone)/i,
    hint: '"is", "contains", "as it is now"',
  },
  {
    name: 'told',
    re: new RegExp(
      String.raw`\b(?:${BE}|has|have|had) (?:\w+ )?told\b(?! (?:to|apart|you|us|me|how|not|which|whether|explicitly|through|via|by the user)\b)|\b(?:what|as|whatever|that|which|who|those|sites?|shops?|orders?|senders?|messages?|customers?|it|they|nobody|somebody|accesses|downloads) (?:\w+ )?told\b(?! (?:\w+ )?(?:to|apart|you|us|me|him|whether|how|which|when|what))|\b(?:what|as) (?:an? |the )?(?:[\w-]+ ){1,2}tells?${END}|\btold (?:of|anything|nothing|something|later|besides|by|their|its|once)\b|\btells? (?:of|from|it from|them apart|nothing|anything|besides)\b`,
      'i',
    ),
    hint: '"reported", "notified", "sent", "distinguishes"',
  },
  {
    name: 'said',
    re: /\b(?:is|are|was|were|be|been|being) said\b(?! to\b)(?! that\b)|\b(?:that|what|it|they|history|row|line|order|event|table|log|list|answer|sites?|who|he) (?:says?|said) (?:of|it of|until|so|besides|itself|otherwise)\b|\bsays? (?:nothing|anything) (?:of|about)\b|\bwithout saying so\b|\b(?:what|as) (?:[\w`.'-]+ ){1,3}says${'(?=\\s*[.,;:)]|$)'}/i,
    hint: '"contains", "states", "reports"',
  },
  {
    name: 'goes-on',
    re: /\b(?:goes|go|went|going) on\b(?! (?:to\b|a |an |the |sale|and on|line\b|forever|vacation|top|behind|inside|strike))(?<!(?:'s|is|was|are|what|s|things|anything|something|stuff|lot) going on)(?<!what (?:goes|went) on)/i,
    hint: '"continues", "keeps running"',
  },
  {
    name: 'comes-by',
    re: /\b(?:came|come|comes|coming) by\b(?! default)/i,
    hint: '"was sent with", "arrives through"',
  },
  {
    name: 'becomes-of',
    re: /\b(?:becomes?|became|come|comes|came) of (?:it|them|this|that|each|an?|the|its|their|these|those|one|what|\w+ (?:is|was|are))\b|\bmakes? of (?:it|them|the|an?|each|its|this)\b|\bbecame of\b|\bcomes of\b/i,
    hint: '"the outcome of", "what happens to", "turns X into"',
  },
  {
    name: 'goes-by',
    re: /\b(?:go|goes|went) by (?:it|them|its|the|this|that|an?|these|those|what|their)\b(?! name)|\b(?:that|which|it|joomla|they) goes by(?=\s*[.,;:)]|$)/i,
    hint: '"uses", "follows", "is decided by"',
  },
  {
    name: 'archaic',
    re: /\b(?:anew|lately|betimes|hitherto|whence|thence|hence the|whereof|whereby|heretofore|thereupon|elsewise|ere|nay|oft|amid|amidst|in the midst|midst of)\b/i,
    hint: '"again", "recently", "from which"',
  },
  {
    name: 'shall',
    re: /\bshall\b(?! not be (?:liable|held)| be included in all)/,
    kinds: ['comment', 'prose', 'tag', 'cell', 'string'],
    hint: '"must", "should", or the present tense',
  },
  { name: 'sake', re: /\bfor (?:whose|its|their|his|which) sakes?\b/i, hint: '"because of"' },
  { name: 'the-like', re: /\b(?:and|or) the like\b/i, hint: 'name the cases, or "and similar X"' },
  {
    name: 'at-its',
    re: /\bat its (?:time|place)\b|\bto its place\b|\bin the place of\b|\bin (?:their|its) places\b/i,
    hint: '"when due", "instead of", "at this position"',
  },
  {
    name: 'in-its-place',
    re: /\bthe (?:one|key|text|file|row|order|list) in its place\b|\bone in its place\b|\btook (?:its|the) place of\b/i,
    hint: '"its replacement"',
  },
  {
    name: 'is-at-it',
    re: /\b(?:is|are|was|were) at it\b(?= *[.,;:)]|$)|\b(?:is|are|rows) at hand\b/i,
    hint: '"is working on it", "available"',
  },
  { name: 'be-had', re: /\b(?:be|is|are|was) had\b/i, hint: '"is available"' },
  { name: 'once-for', re: /\bonce for (?:an?|the|one)\b(?! (?:time|particular))/i, hint: '"once per X"' },
  {
    name: 'for-conjunction',
    re: /, for (?:it|they|he|she|we|there|nobody|this|that|those) (?:is|are|was|were|has|have|had|would|could|can|may|might|does|do|will)\b/i,
    hint: '"because"',
  },
  {
    name: 'or-else',
    re: /(?<!\b(?:must|should|check|sure|otherwise|than|could|returns?)\b.*)\bor else (?:the|its|an?|by|from|those|that of|what|in|at|on|of|for)\b|(?<!\bif\b.*), else (?:by|the|an?|with|at|in|from|of|its|those|what|as|that|on|to|for)\b/i,
    hint: '"otherwise", "falling back to"',
  },
  {
    name: 'elided',
    re: new RegExp(
      String.raw`\b(?:as|than) (?:it|they|one|those|others|these|that) (?:stands?|stood|came|comes?|were sent|was sent)${END}|\b(?:no [\w-]+|nobody|nothing|none) (?:is|are|was|were|does|do|has|have|can|may|will)${END}|\bwhen (?:none|neither|one) (?:is|was|does|has)${END}`,
      'i',
    ),
    hint: 'finish the sentence; "unchanged"',
  },
  {
    name: 'as-it-is',
    re: new RegExp(
      String.raw`\b(?:is|are|was|were|be|taken|shown|written|read|sent|stored|pages?|orders?|subscriptions|files?|licen[cs]es|settings|lists?|texts?|values?) as (?:it|they) (?:is|are|was|were|stands?|came|comes)\b`,
      'i',
    ),
    hint: '"unchanged", "in their present state"',
  },
  {
    name: 'also-where',
    re: /, (?:also|too) (?:where|of|one|those|that|after|before|by|from|without|if|while|who|what|again|ones|at|when|in|to|for)\b(?! the same time| known| the property)/i,
    hint: '"including ...", "even if ..."',
  },
  {
    name: 'too-of',
    re: /(?<!\b(?:this|that|it|them|me|you|those|these|well|way|one|here|there|other))\s+too (?:for|of|that|who|which|where|by|as) [a-z`]/i,
    hint: '"also ..."; put it before the noun',
  },
  {
    name: 'with-this-page',
    at: 'sentence',
    re: /^(?:With this page|With this section)\b/,
    hint: '"This page explains how to ..."',
  },
  {
    name: 'for-life',
    re: new RegExp(String.raw`\bfor life${END}|\bnull: never\b`, 'i'),
    hint: '"lifetime", "never expires"',
  },

  // -- house style: understandable, but not how the field writes it
  { name: 'beside', re: /\bbeside\b(?! the point)/i, hint: '"next to", "in addition to"' },
  {
    name: 'newest-first',
    re: /\bthe (?:newest|latest|oldest|highest|nearest|longest|soonest|worst|likeliest|most|lowest|best|one)(?: (?:key|one|end|version|row|refusal|refused|ends?))? (?:first|last)\b(?! (?:one|time|release|version))/i,
    hint: '"newest first", "sorted by X, descending"',
  },
  {
    name: 'by-itself',
    re: /\b(?:renews?|pays?|paid|renewed|ends?|starts?|goes|go|comes?|sends?|tries|try) (?:(?:it|them|on|away|its \w+) )?by (?:itself|themselves)\b|\b(?:renews?) (?:itself|themselves)\b/i,
    hint: '"automatically"',
  },
  {
    name: 'value-colon',
    strict: true,
    re: /\b(?:undefined|null|false|true|empty|none): (?:it|there|none|not|no|the|an?|that|they|nobody|never|what|all|as|any|to|of|for|in|by|at|if|one)\b/i,
    hint: '"`undefined` if ..."',
  },
  {
    name: 'two-rules',
    strict: true,
    re: /[;:] [^;:]{12,}[;:] [^;:]{12,}/,
    kinds: ['comment', 'prose'],
    hint: 'two sentences, or a list',
  },
  {
    name: 'long-sentence',
    strict: true,
    test: (s) => s.split(/\s+/).length > 40,
    kinds: ['comment', 'prose', 'string'],
    hint: 'split it: at most 40 words',
  },
];
