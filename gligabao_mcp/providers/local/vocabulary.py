"""Word lists: what a noun, an adjective or a name tells by itself of what it stands for."""

from __future__ import annotations

from gligabao_mcp.providers.local.tables import word_set

PETS = word_set("dog cat pet puppy kitten horse parrot rabbit hamster tortoise pony goldfish")
JOBS = word_set("job position role post internship work career contract gig offer apprenticeship")
GROUPS = word_set(
    "club team band choir society gym party group guild union association committee board council orchestra league"
    " federation chess squad network community parliament army navy troupe"
)
EVENTS = word_set(
    "meeting call appointment interview standup demo review party wedding conference lunch dinner workshop retro"
    " retrospective flight exam presentation concert launch release trip visit checkup check-up session"
    " training webinar race marathon game match birthday anniversary ceremony kickoff sync class course"
)
MEETINGS = word_set(
    "meeting call appointment interview standup demo review workshop session consultation sync checkup check-up"
    " videocall"
)
ACTIVITIES = word_set(
    "yoga pilates karate judo boxing kickboxing crossfit gymnastics ballet athletics aerobics capoeira taekwondo sport"
    " sports archery climbing triathlon parkour zumba meditation pottery"
)
DEGREES = word_set("degree phd doctorate master masters bachelor diploma mba")
# "X is Y": adjectives that say what somebody or something is, and not how they are today.
LASTING = word_set(
    "vegetarian vegan pescatarian diabetic asthmatic celiac coeliac colorblind colour-blind color-blind dyslexic deaf"
    " blind left-handed right-handed retired divorced single married widowed pregnant religious catholic muslim jewish"
    " buddhist christian hindu atheist bilingual trilingual unemployed self-employed freelance teetotal adopted"
    " lactose-intolerant american british english german french spanish italian dutch danish swedish norwegian finnish"
    " polish czech greek turkish russian ukrainian portuguese irish scottish welsh swiss austrian belgian hungarian"
    " romanian bulgarian serbian croatian chinese japanese korean indian thai vietnamese mexican brazilian chilean"
    " peruvian canadian australian egyptian moroccan nigerian kenyan iranian iraqi israeli lebanese icelandic"
    " gluten-free open-source introverted extroverted autistic epileptic"
)
ROLE_ENDINGS = ("er", "or", "ist", "ian", "eer", "ant", "ent", "man", "woman", "ress", "yst")
ROLES = word_set(
    "nurse chef cook judge clerk guide pilot ceo cto cfo coo cmo vp lead head chief intern president chair chairwoman"
    " chairperson chairman boss analyst surgeon dean student apprentice founder co-founder monk priest athlete poet"
    " vet spy coach model host hostess freelancer mayor scientist architect mechanic paramedic gp deputy postdoc"
    " diplomat critic academic barista secretary attorney tailor nanny sre dba spokesperson sales salesperson"
)
NOT_ROLES = word_set(
    "computer printer server container customer number paper water summer winter river monitor router letter member"
    " father mother brother sister daughter partner supporter lover hater owner fan user plant event present element"
    " restaurant elephant tent department apartment document parent terrier retriever setter pointer newsletter"
    " tower power center theater consumer provider compiler parser adapter folder order border weather quarter cluster"
    " helper matter layer monster danger killer disaster corner water beer dinner supper tumor humor motor color"
    " favor flavor harbor labor rumor error mirror vapor vector sensor processor editor intolerant resistant tolerant"
    " labrador"
    " rottweiler corridor anchor"
)
# Names of places that only break ties: "left Lisbon" is a move, "left Acme" is not.
PLACES = word_set(
    "amsterdam athens atlanta austin bangkok barcelona beijing beirut belgrade berlin bogota bologna boston brooklyn"
    " brussels bucharest budapest cairo chicago copenhagen cork dakar dallas delhi denver doha dubai dublin edinburgh"
    " florence frankfurt geneva ghent glasgow hamburg hanoi havana helsinki houston istanbul jakarta kyiv kyoto lagos"
    " leeds leipzig lima lisbon liverpool london lyon madrid manchester marseille melbourne miami milan montreal moscow"
    " mumbai munich nairobi naples osaka oslo paris philadelphia porto prague pune quito riga rome rotterdam santiago"
    " seattle seoul seville shanghai singapore sofia stockholm stuttgart sydney taipei tallinn tokyo toronto tunis"
    " turin utrecht valencia vancouver venice vienna vilnius warsaw zagreb zurich accra gdansk krakow basel bern bilbao"
    " argentina australia austria belgium brazil canada chile china colombia croatia cuba denmark egypt england estonia"
    " finland france germany ghana greece hungary iceland india indonesia iran ireland israel italy japan kenya latvia"
    " lithuania malta mexico morocco nepal netherlands nigeria norway peru poland portugal romania russia scotland"
    " serbia slovakia slovenia spain sweden switzerland taiwan thailand tunisia turkey ukraine uruguay venezuela"
    " vietnam wales california texas tuscany bavaria europe africa asia america"
)
_ORGANISATION = word_set(
    "inc ltd llc corp gmbh labs group bank university college school hospital institute foundation ag bv systems"
    " partners studio studios plc"
)


def is_role(noun: str) -> bool:
    """Whether a noun names what somebody does for a living."""
    word = noun.lower()
    return word in ROLES or (word.endswith(ROLE_ENDINGS) and len(word) > 4 and word not in NOT_ROLES)


def is_lasting(adjective: str) -> bool:
    """Whether an adjective says what somebody is for good: a diet, a condition, a nationality."""
    return adjective.lower() in LASTING


def looks_like_place(name: str) -> bool:
    """Whether it is a known city, country or continent."""
    return name.lower().removeprefix("new ").removeprefix("south ").removeprefix("north ") in PLACES


def looks_like_organisation(name: str) -> bool:
    """Whether a name tells by itself that it is no person: an ending such as Labs, or capitals only."""
    words = name.split()
    return words[-1].lower().strip(".") in _ORGANISATION or (len(name) > 2 and name.isupper() and name.isalpha())
