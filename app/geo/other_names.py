"""Usual names of countries by their codes, beside those that CLDR has in the dashboard's languages."""

from __future__ import annotations

LINES = """
    AE UAE; Emirates; VAE; Emirate; Émirats; EAU; Emiratos
    AG Antigua
    AX Åland; Aland
    BA Bosnia; Bosnien; Bosnie; Bosnia-Herzegovina
    BN Brunei Darussalam
    BO Plurinational State of Bolivia
    BQ Bonaire; Caribbean Netherlands
    BS The Bahamas
    BY White Russia; Weißrussland; Weissrussland; Bielorussland; Bielorrusia; Bélarus; Biélorussie
    CD DR Congo; DRC; Congo-Kinshasa; Democratic Republic of the Congo; Congo (Democratic Republic); Zaire
    CD Zaïre; Demokratische Republik Kongo; DR Kongo; République démocratique du Congo; RDC
    CD República Democrática del Congo
    CF Central African Republic; CAR
    CG Congo; Republic of the Congo; Congo-Brazzaville; Kongo; Republik Kongo; République du Congo
    CG República del Congo
    CI Ivory Coast; Cote d'Ivoire; Elfenbeinküste; Costa de Marfil
    CN PRC; People's Republic of China; Mainland China; Volksrepublik China; VR China
    CN République populaire de Chine; República Popular China
    CV Cape Verde; Cabo Verde; Kap Verde; Cap-Vert
    CZ Czech Republic; Czechia; Tschechische Republik; Tschechei; République tchèque; República Checa
    DE Federal Republic of Germany; Bundesrepublik Deutschland; BRD; Bundesrepublik; RFA
    DE República Federal de Alemania
    EH Sahara
    FK Falklands; Malvinas; Islas Malvinas; Malouines; Falklandinseln
    FM Federated States of Micronesia
    FO Faroes; Faeroe Islands; Färöer; Féroé; Feroe
    GB UK; Great Britain; Britain; England; United Kingdom of Great Britain and Northern Ireland
    GB Großbritannien; Vereinigtes Königreich; Grande-Bretagne; Angleterre; Gran Bretaña; Inglaterra
    GM The Gambia
    GR Hellas; Hellenic Republic
    HK Hong Kong; Hongkong
    IE Republic of Ireland; Eire; Republik Irland; République d'Irlande; República de Irlanda
    IR Islamic Republic of Iran; Persia; Persien; Perse
    KG Kyrgyz Republic; Kirgisistan; Kirgisien; Kirgistan; Kirghizstan; Kirguizistán
    KN St Kitts; Saint Kitts
    KP North Korea; DPRK; Korea, North; Democratic People's Republic of Korea; Nord-Korea; Corée, Nord
    KR South Korea; Korea; Republic of Korea; Korea, South; Süd-Korea; Republik Korea; Corée
    KR République de Corée; Corea; República de Corea
    KZ Kasachstan; Kazajistán; Kazajstán
    LA Lao; Lao People's Democratic Republic
    LY Libyan Arab Jamahiriya
    MD Republic of Moldova; Moldawien; Moldau; Moldavie; Moldavia
    MK Macedonia; FYROM; Mazedonien; Macédoine; Republic of North Macedonia
    MM Burma; Myanmar; Birma; Birmanie; Birmania
    MO Macau; Macao
    NL Holland; The Netherlands; Hollande; Holanda
    PG Papua
    PS Palestine; State of Palestine; Palästina; Palestina
    RU Russian Federation; Russische Föderation; Fédération de Russie; Federación Rusa
    SA KSA; Saudi; Saudi-Arabien
    SK Slovak Republic; Slowakische Republik; Slowakei; République slovaque; República Eslovaca
    SR Surinam
    ST Sao Tome; São Tomé; Santo Tomé
    SV Salvador
    SX Sint Maarten; Dutch Saint Martin
    SY Syrian Arab Republic
    SZ Swaziland; Eswatini; Swasiland; Suazilandia
    TL East Timor; Timor-Leste; Timor; Osttimor; Timor oriental; Timor Oriental
    TR Turkey; Turkiye; Türkei
    TT Trinidad; Tobago
    TW Republic of China; Chinese Taipei; Formosa
    TZ United Republic of Tanzania; Tansania; Tanzanie; Tanzania
    US USA; United States of America; The States; America; Vereinigte Staaten von Amerika; Amerika
    US États-Unis d'Amérique; Amérique; Estados Unidos de América; EE. UU.; EEUU; EUA
    VA Vatican; Holy See; Vatikan; Heiliger Stuhl; Saint-Siège; Vaticano; Santa Sede
    VC Saint Vincent; Saint Vincent and the Grenadines
    VE Bolivarian Republic of Venezuela
    VG British Virgin Islands; BVI
    VI US Virgin Islands; Virgin Islands; USVI
    VN Viet Nam; Vietnam
    WS Samoa; Western Samoa
    ZA RSA; Republic of South Africa; Republik Südafrika
"""
OTHER_NAMES: dict[str, list[str]] = {}
for _code, _names in (line.strip().split(" ", 1) for line in LINES.strip().splitlines()):
    OTHER_NAMES.setdefault(_code, []).extend(name.strip() for name in _names.split(";"))
