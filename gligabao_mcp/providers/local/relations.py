"""The relations that the rules know: how English says them, and what stands at their two ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gligabao_mcp.providers.local.tables import rows, word_set

Kind = Literal["state", "start", "end", "event"]
"""What a verb says of the relation: that it holds, that it begins, that it ends, or that something happened once."""


@dataclass(frozen=True, slots=True)
class Saying:
    """One way to say a relation. `slot` is where its other end stands: `obj`, `attr`, or a preposition.
    `passive`: the verb stands in the passive voice; `inverse`: the subject is the relation's target."""

    slot: str
    relation: str
    kind: Kind
    passive: bool
    inverse: bool


# verbs | where the other end stands ("passive" before it, "inverse" after it) | relation | kind
_VERBS = """
work | at for | works_at | state
work | as | has_role | state
work | on | works_on | state
work | with | works_with | state
work | in | works_in | state
work collaborate cooperate | alongside with | works_with | state
employ hire recruit poach | obj inverse | works_at | start
employ | passive at by | works_at | state
hire recruit poach headhunt | passive by at | works_at | start
hire employ engage | passive as | has_role | start
join | obj | works_at | start
join | as | has_role | start
start begin | at with | works_at | start
start begin work | as | has_role | start
intern freelance consult contract | at for with | works_at | state
leave quit | obj | works_at | end
resign depart retire | from | works_at | end
fire dismiss sack | passive by from | works_at | end
fire dismiss | obj inverse | works_at | end
serve act | as | has_role | state
serve | on | member_of | state
become | attr | has_role | start
promote | passive to | has_role | start
appoint name elect make | passive as attr to | has_role | start
step resign | as | has_role | end
report answer | to | reports_to | state
manage supervise oversee | obj | manages | state
manage supervise | passive by inverse | manages | state
lead head chair direct coordinate | obj | leads | state
lead head chair direct | passive by inverse | leads | state
run operate | obj | runs | state
run | passive by inverse | runs | state
mentor coach tutor advise | obj | mentors | state
live reside dwell | in at on | lives_in | state
live reside | near | lives_near | state
live share | with | lives_with | state
move | with | lives_with | start
move relocate emigrate immigrate migrate return | to into in | lives_in | start
move relocate emigrate migrate | from out | lives_in | end
settle | in | lives_in | start
come hail originate | from | comes_from | state
stay | at in with | stays_at | event
marry wed | obj | married_to | start
marry wed | passive to | married_to | start
divorce | obj | married_to | end
divorce separate | passive from | married_to | end
separate | from | married_to | end
engage | passive to | engaged_to | start
date | obj | partner_of | state
break split | with | partner_of | end
befriend | obj | friend_of | start
love like enjoy adore fancy favour favor | obj | likes | state
hate dislike detest loathe despise | obj | dislikes | state
avoid | obj | avoids | state
prefer | obj | prefers | state
use utilise utilize | obj | uses | state
switch change convert upgrade | to | uses | start
switch change upgrade | from | uses | end
drop abandon ditch retire decommission | obj | uses | end
run | on | uses | state
program code | in | uses | state
write rewrite code program implement port | passive in to | written_in | event
build make develop | passive with on in | built_with | event
host deploy | passive on in at | hosted_on | state
store save keep | passive in on at | stored_in | state
store save keep | in | stores_data_in | state
own possess | obj | owns | state
own | passive by inverse | owns | state
have | obj | has | state
keep breed | obj | keeps | state
buy purchase | obj | owns | start
adopt inherit | obj | owns | start
get | obj | gets | start
sell | obj | owns | end
rent lease | obj | rents | state
drive ride | obj | drives | state
study read | obj | studied | event
study enrol enroll train | at in | studied_at | event
enrol enroll | passive at in | studied_at | state
attend | obj | attended | event
graduate | from | graduated_from | event
major specialise specialize | in | studied | event
specialise specialize | passive in | studied | state
teach | obj | teaches | state
teach lecture | at | works_at | state
learn practise practice | obj | learns | state
speak | obj | speaks | state
play | obj | plays | state
play sing perform | in | plays_in | state
play | for | plays_for | state
bear | passive in at | born_in | event
bear | passive on | born_on | event
bear | obj | parent_of | event
die | in on at of | died_in | event
found establish | obj | founded | event
co-found cofound | obj | founded | event
found start establish create co-found cofound | passive by inverse | founded | event
acquire buy | passive by inverse | acquired | event
acquire take-over | obj | acquired | event
take-over | passive by inverse | acquired | event
sell | passive to inverse | acquired | event
start | obj | founded | event
set-up start-up | obj | founded | event
take-up | obj | does | start
give-up | obj | does | end
lay-off | passive by from | works_at | end
break-up split-up | with | partner_of | end
grow-up | in | grew_up_in | event
raise | passive in | grew_up_in | event
step-down | as | has_role | end
sign-up enrol-up | for | enrolled_in | start
merge | with | merged_with | event
base locate headquarter situate | passive in at near on | located_in | state
lie sit stand | in near on | located_in | state
visit tour | obj | visited | event
travel fly go drive sail head | to | travels_to | event
go travel fly | passive to | travels_to | event
meet | obj with | met | event
know | obj | knows | state
depend rely | on upon | depends_on | state
require need | obj | requires | state
require need | passive by inverse | depends_on | state
belong | to | belongs_to | state
consist | of | consists_of | state
include contain comprise | obj | includes | state
support follow back | obj | supports | state
replace | with | uses | start
replace swap | obj | uses | end
swap | for | uses | start
replace supersede | obj | replaces | event
replace supersede | passive by with inverse | replaces | event
cost | obj | costs | state
weigh measure | obj | weighs | state
earn | obj | earns | state
pay | obj | pays | state
suffer | from | suffers_from | state
diagnose | passive with | has_condition | start
recover | from | has_condition | end
call name title nickname | passive attr | is_called | state
volunteer | at for with in | volunteers_at | state
train | for | trains_for | state
win | obj | won | event
write author | obj | wrote | event
write author | passive by inverse | wrote | event
schedule plan book set | passive for on at | scheduled_for | state
stand tolerate | obj | tolerates | state
drink | obj | drinks | state
eat | obj | eats | state
smoke | obj | smokes | state
teach | passive by inverse | teaches | state
invest | in | invests_in | event
subscribe | to | subscribes_to | state
care | for | cares_for | state
do | obj | does | state
turn | obj | has_age | start
"""

# What a verb that is in no row says: simply itself. These say too little without the rest of their sentence.
VAGUE_VERBS = word_set(
    "be do have get make take give put set let go come say tell ask think pick keep see look want need try seem feel"
    " show turn bring find call mean help happen hold believe hope expect plan talk speak chat discuss mention know"
    " remember forget remind note add send apply consider interview offer invite expect suppose rumor rumour"
    " allow owe lend wait stop start begin continue finish end bear thank"
    " break spend miss catch hear check apologize apologise please ignore reply"
)

# noun | relation | which end the named one is ("X's mother is N": N is the source)
_NOUNS = """
mother father mom mum dad parent stepmother stepfather mama papa | parent_of | source
son daughter child kid baby stepson stepdaughter boy girl | parent_of | target
brother sister sibling twin half-brother half-sister | sibling_of | source
wife husband spouse | married_to | source
fiance fiancé fiancee fiancée | engaged_to | source
girlfriend boyfriend partner | partner_of | source
friend buddy pal bestie | friend_of | source
colleague coworker co-worker teammate | colleague_of | source
flatmate roommate housemate | flatmate_of | source
neighbour neighbor | neighbour_of | source
grandmother grandfather grandma grandpa grandparent granny | grandparent_of | source
grandson granddaughter grandchild | grandparent_of | target
aunt uncle cousin niece nephew mother-in-law father-in-law brother-in-law sister-in-law | relative_of | source
manager boss supervisor | reports_to | target
report assistant intern | manages | target
dog cat pet puppy kitten horse parrot rabbit hamster tortoise pony goldfish | owns | target
car bike bicycle motorbike motorcycle boat van scooter laptop phone | owns | target
employer company | works_at | target
employee | works_at | source
owner | owns | source
founder co-founder cofounder creator | founded | source
member | member_of | source
fan | likes | source
author | wrote | source
user | uses | source
part branch division subsidiary | part_of | source
capital | capital_of | source
alumnus graduate alumna | studied_at | source
citizen resident inhabitant native | lives_in | source
student pupil | studied_at | source
"""
_PERSONAL = word_set(
    "dentist doctor landlord landlady lawyer therapist accountant teacher mentor coach trainer tutor hairdresser vet"
    " barber nanny babysitter nurse physiotherapist psychologist cardiologist plumber gardener client customer agent"
    " advisor adviser supplier professor instructor stylist guardian godmother godfather sponsor editor publisher"
    " gp optician surgeon midwife psychiatrist dermatologist mechanic electrician banker notary"
)

# "X is ADJECTIVE PREPOSITION Y"
ADJECTIVES: Mapping[tuple[str, str], str] = {
    ("allergic", "to"): "allergic_to",
    ("intolerant", "to"): "allergic_to",
    ("married", "to"): "married_to",
    ("engaged", "to"): "engaged_to",
    ("related", "to"): "relative_of",
    ("afraid", "of"): "afraid_of",
    ("scared", "of"): "afraid_of",
    ("terrified", "of"): "afraid_of",
    ("fond", "of"): "likes",
    ("keen", "on"): "likes",
    ("crazy", "about"): "likes",
    ("interested", "in"): "interested_in",
    ("fluent", "in"): "speaks",
    ("good", "at"): "good_at",
    ("responsible", "for"): "responsible_for",
    ("dependent", "on"): "depends_on",
    ("addicted", "to"): "addicted_to",
    ("based", "in"): "located_in",
    ("located", "in"): "located_in",
    ("headquartered", "in"): "located_in",
    ("born", "in"): "born_in",
    ("proud", "of"): "proud_of",
    ("compatible", "with"): "compatible_with",
    ("specialised", "in"): "studied",
    ("specialized", "in"): "studied",
    ("due", "on"): "due_on",
    ("due", "by"): "due_on",
    ("named", "after"): "named_after",
    ("tired", "of"): "dislikes",
    ("sick", "of"): "dislikes",
    ("known", "as"): "is_called",
    ("famous", "for"): "known_for",
}

# "X's ATTRIBUTE is Y"; any other noun makes has_<noun>.
ATTRIBUTES: Mapping[str, str] = {
    "email": "has_email",
    "e-mail": "has_email",
    "mail": "has_email",
    "phone": "has_phone",
    "telephone": "has_phone",
    "mobile": "has_phone",
    "cell": "has_phone",
    "birthday": "born_on",
    "birthdate": "born_on",
    "job": "has_role",
    "title": "has_role",
    "role": "has_role",
    "position": "has_role",
    "profession": "has_role",
    "occupation": "has_role",
    "employer": "works_at",
    "hometown": "comes_from",
    "headquarters": "located_in",
    "office": "located_in",
    "name": "is_called",
    "nickname": "is_called",
    "hobby": "likes",
    "passion": "likes",
    "allergy": "allergic_to",
    "age": "has_age",
    "diet": "is_a",
    "breed": "is_a",
    "nationality": "has_nationality",
    "language": "speaks",
    "favourite": "likes",
    "favorite": "likes",
    "price": "costs",
    "cost": "costs",
    "deadline": "due_on",
    "fear": "afraid_of",
    "home": "lives_in",
    "birthplace": "born_in",
}


# relation | type of its source | type of its target; "?" says that the relation leaves it open
_SIGNATURES = """
works_at | person | organization
role_at | person | organization
has_role | person | role
works_on | person | project
works_with has_meeting_with | person | ?
follows_diet | person | diet
works_in | person | ?
reports_to | person | person
manages leads | person | ?
met | person | person
mentors | person | person
lives_in | person | place
grew_up_in born_in comes_from | person | place
lives_with married_to engaged_to partner_of friend_of sibling_of parent_of flatmate_of neighbour_of | person | person
colleague_of grandparent_of relative_of | person | person
likes dislikes avoids prefers | person | ?
interested_in good_at afraid_of proud_of addicted_to responsible_for | person | ?
uses | ? | technology
written_in built_with | ? | technology
owns | person | possession
drives rents | person | possession
studied | person | subject
studied_at studies_at attended graduated_from | person | organization
teaches | person | subject
speaks | person | language
plays | person | activity
plays_in plays_for | person | organization
born_on | person | date
died_in | person | ?
died_on retired_on retires_on | person | date
lives_near | person | place
founded | person | organization
acquired merged_with | organization | organization
located_in | ? | place
visited travels_to | person | place
allergic_to | person | substance
has_condition suffers_from | person | condition
member_of volunteers_at | person | organization
has_email | person | email
has_phone | person | phone number
has_age | person | age
has_nationality | person | nationality
drinks eats | person | food
does | person | activity
wrote | person | work
costs pays earns | ? | amount
due_on scheduled_for happens_on | ? | date
capital_of | place | place
noted | ? | note
"""

SYMMETRIC = word_set(
    "married_to engaged_to partner_of friend_of sibling_of colleague_of flatmate_of neighbour_of relative_of met"
    " works_with lives_with merged_with"
)
# "Tara and Sven got married", "Rosa and Tim are friends": plural subjects that are each other's target.
MUTUAL: Mapping[str, str] = {"marry": "married_to", "engage": "engaged_to", "divorce": "married_to", "meet": "met"}


def _sayings() -> dict[str, tuple[Saying, ...]]:
    found: dict[str, list[Saying]] = {}
    for verbs, where, relation, kind in rows(_VERBS):
        words = where.split()
        passive, inverse = "passive" in words, "inverse" in words
        for verb in verbs.split():
            for slot in words:
                if slot not in ("passive", "inverse"):
                    assert kind in ("state", "start", "end", "event")
                    found.setdefault(verb, []).append(Saying(slot, relation, kind, passive, inverse))
    return {verb: tuple(ways) for verb, ways in found.items()}


SAYINGS: Mapping[str, tuple[Saying, ...]] = _sayings()
NOUNS: Mapping[str, tuple[str, str]] = {
    **{noun: (f"{noun}_of", "source") for noun in _PERSONAL},
    **{noun: (relation, end) for nouns, relation, end in rows(_NOUNS) for noun in nouns.split()},
}
SIGNATURES: Mapping[str, tuple[str, str]] = {
    relation: (source, target) for relations, source, target in rows(_SIGNATURES) for relation in relations.split()
}
