"""Plain words: those of a question that are no names, in the languages that questions are asked in most."""

from __future__ import annotations

from core.names.words import word_key
from core.query.score import STOPWORDS


def _keys(words: str) -> frozenset[str]:
    return frozenset(map(word_key, words.split()))


# Words of grammar. A name may hold them, but it neither begins nor ends with one where it is looked for.
SMALL = STOPWORDS | _keys(
    """also after again against among another because before between both during each either every few least less only
    other others own per same since still such than through under until upon versus via vs within without yet new
    old last next first latest recent recently current currently today yesterday tomorrow now ago day days week
    weeks month months year years date time times long often ever never always monday tuesday wednesday thursday
    friday saturday sunday january february march april june july august september october november december jan
    feb mar apr jun jul aug sep sept oct nov dec more most fewer fewest highest lowest largest smallest top bottom
    der die das den dem des ein eine einer eines einem einen und oder aber nicht kein keine in im an am auf aus bei
    beim mit nach von vom zu zum zur für über unter vor hinter zwischen seit bis durch gegen ohne um wer was wo
    wann wie warum wieso weshalb welche welcher welches welchen welchem wen wem wessen wieviel wieviele viele ist
    sind war waren hat haben hatte hatten wird werden wurde wurden kann können soll sollen muss müssen darf ich du
    er sie es wir ihr mein dein sein unser euer mir dir ihm ihn uns euch sich man alle alles jede jeder jedes
    dieser diese dieses letzte letzten letzter letztes heute gestern morgen woche monat jahr tag le la les un une
    des du de et ou au aux dans sur sous par pour avec sans qui que quoi dont où quand comment pourquoi quel quelle
    quels quelles combien est sont était a ont ce cette ces il elle nous vous ils elles el los las una unos unas y
    o del al en con sin por para sobre entre quién quiénes qué cuál cuáles cuándo dónde cómo cuánto cuántos cuántas
    es son fue era tiene tienen il lo gli i una uno e ed con per tra fra chi che cosa quale quali quando dove come
    perché quanto quanti sono van het een en of met voor naar door wie wat waar wanneer hoe waarom welke hoeveel
    zijn"""
)

# Verbs that open a question or an order to somebody who answers.
ASKING = _keys(
    """summarize summarise compare describe list show tell give find explain count name please identify rank sort plot
    draw chart graph analyze analyse calculate compute get fetch display report check search look write draft
    create make prepare update outline review sum total group break bring pull return provide recommend suggest
    translate discuss evaluate assess estimate predict determine define detail highlight extract map trace track
    visualize visualise add remove delete change set remind remember forget ask answer say help let see view open
    read print export fasse fass zusammenfassen vergleiche vergleich beschreibe beschreib liste zeige zeig nenne
    nenn gib gebe finde find erkläre erklär zähle zähl bitte erstelle erstell suche such berechne berechn
    analysiere schreibe schreib sage sag erzähle erzähl ordne sortiere prüfe prüf ermittle bestimme stelle hol hole
    résume résumez compare comparez décris décrivez liste listez montre montrez donne donnez trouve trouvez
    explique expliquez compte comptez cherche cherchez resume resuma compara compare describe lista muestra muestre
    dame da encuentra explica cuenta busca riassumi confronta descrivi elenca mostra dammi trova spiega conta cerca
    vergelijk beschrijf toon geef vind leg tel zoek"""
)

# Words that begin sentences and stand in many titles: in lower case or first in a sentence they name no record.
ORDINARY = _keys(
    """account accounts action address agenda amount answer answers area average book budget build business call calls
    case cases category change changes city class client clients code comments company companies contact contacts
    content contract contracts cost costs country customer customers data deal deals decision decisions department
    description detail details development different document documents email emails employee employees engineering
    error errors event events example facts failure failures feature features feedback file files finance findings
    form goal goals group groups head history home hours house idea ideas incident incidents information interest
    invoice invoices issue issues item items job jobs kind label lead leads level life line link links list
    location main management manager managers market marketing meeting meetings member members message messages
    money name names news note notes number numbers offer offers office online open operations order orders
    organization organizations owner owners page pages part people percent person phone place plan planning plans
    point points policy price prices problem problems process product products program progress project projects
    property quality question questions range rate reason reasons record records region relation release report
    reports request requests research result results revenue review reviews risk risks role rule rules sale sales
    schedule school section sector security service services shop site size software source space staff stage start
    state status step steps store story strategy street subject summary supplier suppliers support system systems
    table task tasks team teams technology test thing things ticket tickets title topic topics total training
    travel type types university update updates user users value values vendor vendors version visit website weekly
    word words work working world worth analytics angebot angebote aufgabe aufgaben auftrag aufträge bericht
    berichte besprechung datum ergebnis ergebnisse firma firmen frage fragen kunde kunden leute lieferant
    lieferanten liste mitarbeiter notiz notizen nummer person personen preis preise problem produkt produkte
    projekt projekte rechnung rechnungen stadt team teams termin termine thema themen titel unternehmen vertrag
    verträge"""
)
