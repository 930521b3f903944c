// Words and their stems from the vocabulary that Snowball publishes for its algorithms (github.com/snowballstem/snowball-data), as facts to
// compare with: some of each language, chosen by a seed among those that change.

export const stemsOf: Readonly<Record<string, string>> = {
  arabic: `
فرعيلاهن رعيل, ألقابه القاب, أنارانا انار, تخردي تخرد, سيذيقانني يذيق, فأحبطتاكن احبط, سيتحنن يتحن, سنهتم سنه, أغدوكما اغد,
فبعشمها عشم, أندبرها اندبر, فسيوفون سيوف, ستدهورانكن تدهور, فصففنها صفف`,
  armenian: `
հասունացումը հասունաց, ազգայնացվել ազգայն, դերակատարը դեր, լրիվության լրիվությ, պսակվեց պսակվ, մարգինալ մար, հանճարը հանճ,
էստրոգենը էստրոգ, ասպարեզի ասպարեզ, փոխարիներ փոխարի, պարկերում պարկեր, տարածվելուց տարած, հպատակ հպատ, կառուցելու կառուց`,
  danish: `
tjenstgørende tjenstgør, svenden svend, mishandlet mishandl, porle porl, lykkelige lyk, forsømme forsøm, bosiddende bosid,
neldtes neld, pader pad, græsgange græsgang, uvidende uvid, efronbjerget efronbjerg, adspredelse adspred, frænde frænd`,
  dutch: `
breedtematen breedtemat, smartelijke smartelijk, geologische geologisch, houtskool houtskol, paarsige paarsig,
homerische homerisch, flame flam, binnendijks binnendijk, zoutwinning zoutwinn, voile voil, stijgende stijgend,
uitgifte uitgift, lasteren laster, brandwerend brandwer`,
  english: `
dictator dictat, connivance conniv, mysteriously mysteri, mariners marin, famously famous, clubs club, violently violent,
voiced voic, tehuelches tehuelch, diverse divers, pitted pit, edgeware edgewar, remuneration remuner, firmaments firmament`,
  finnish: `
hasan hasa, heikin heik, hypermediaa hypermedia, aulangon aulango, honkajoelta honkajoe, ajonestolaite ajonestolait,
iivanainen iivanain, automarketin automarket, golfmiehelle golfmieh, birgitte birgit, ennakkotiedon ennakkotiedo,
donatonin donaton, alemmiksi alem, farmari farmar`,
  french: `
flamboyants flamboi, confié confi, empoisonna empoison, calmèrent calm, comptez compt, destituera destitu, secousse secouss,
dissimulant dissimul, emprisonne emprison, partons parton, apaisera apais, nouveautés nouveaut, causés caus, enchantait enchant`,
  german: `
fonds fond, einfluß einfluss, backen back, gleiche gleich, orgelspieler orgelspiel, röche roch, aussteigen aussteig,
wärst warst, möglichstem moglich, sprichwörter sprichwort, folgten folgt, muttergottes muttergott, gegenwärtigen gegenwart,
trübseligen trubsel`,
  greek: `
θεαματικής θεαματικ, αυξητικής αυξητικ, ισχυρίζονται ισχυριζ, αποκαλεστεί αποκαλεστ, χαρακτήρες χαρακτηρ, εμπράκτως εμπρακτωσ,
φανατικός φανατικ, ακτίνιο ακτινι, διευθέτηση διευθετησ, λεωφορειακή λεωφορειακ, αποδειχθούν αποδειχθ, υψηλότερο υψηλ,
καλάι καλα, ισθμού ισθμ`,
  hindi: `
प्रजाती प्रज, ज़रीना ज़रीन, बरनावा बरनाव, अल्पजीवी अल्पजीव, मार्की मार्क, दर्जे दर्ज, बुढ़िया बुढ़िय, डब्लूडब्लूई डब्लूडब्लू,
शहीदी शहीद, शैलों शैल, अड्डा अड्ड, विडम्बना विडम्ब, घुलने घुल, कांटा कांट`,
  hungarian: `
költsem költs, kamionban kamion, körforgásának körforgás, képpontból képpont, készítenek készít, leugrottunk leugrott,
akaratlanul akaratlan, megegyek megegy, betartaná betartana, kóstolni kóstoln, májustól május, lelkesedni lelkesedn,
megoldásokról megoldás, leszállnak leszáll`,
  indonesian: `
diganggu ganggu, meledakkan ledak, digigit gigit, melisma lisma, daratan darat, terkonversi konversi, kebiruan biru,
ditawarkannya tawar, pejuangnya juang, pergumulan gumul, mengontak ontak, narkobanya narkoba, kecernaan cerna, dibutuhkan butuh`,
  irish: `
ndíolamóirí díolamó, aithneoimid aithneo, bucainéirí bucainé, chnoicín cnoicín, dheighmhic deighmhic, scuabtar scuab,
dáiriribh dáirir, carsánachta carsán, dornalaíochta dornal, chluanaigh cluanaigh, athphlandáil athphland, chorónta corónta,
thosnóinn tosnóinn, thagaidíst tagaidíst`,
  italian: `
ustione ustion, rincari rincar, abbonato abbon, edoardo edoard, denominazione denomin, piangente piangent, valevano val,
omaggio omagg, centinaio centinai, zambia zamb, gloriose glorios, serpendo serp, ardeva ardev, avute avut`,
  lithuanian: `
pasveikti pasveik, rezidentu rezident, tvirtinami tvirtin, patiekalo patiekal, pasitraukęs pasitrauk, įtvirtinimas įtvirtinim,
kilnieji kiln, lizde lizd, stovyklavietė stovyklaviet, tulžies tulž, svečiuose svet, elektrinį elektrin, pavojingumo pavojingum,
fiziką fizik`,
  nepali: `
सिक्छु सिक्, चट्का चट्, घटाउदै घटाउ, दौडिएकाहरुको दौड, मोड्नेछु मोड्, खन्नुपर्छ खन्, नाच्नुहुन्छ नाच्, पकाउछिन् पकाउ,
ढाक्थ्यौ ढाक्, ढाक्छन् ढाक्, लम्केछन् लम्क, टार्दैछिन् टार्, धान्छन् धान्, रोकाउदैछन् रोकाउ`,
  norwegian: `
kappdrikker kappdrikk, ugyldige ugyld, kollisjoner kollisjon, etappe etapp, avgiftsmidler avgiftsmidl, bildene bild,
utfordringen utfordring, hviler hvil, fortvilet fortvil, komen kom, rådgjevaren rådgjevar, konsentrerast konsentrer,
groruddalens groruddal, aktes akt`,
  portuguese: `
fofocar fofoc, aventureiros aventureir, psiquiátricas psiquiátr, provoque provoqu, selaram sel, preveniu preven, encarta encart,
desvendados desvend, federações feder, ancora ancor, operários operári, altiva altiv, confundida confund, tacada tac`,
  romanian: `
fâneţele fâneţ, neistovita neistov, divizie diviz, saloane saloan, contribuit contribu, ecoului eco, mofturi moftur,
răcniţi răcn, primele prim, domnii domn, tovarăşa tovarăş, importante import, surâzător surâz, copacilor copac`,
  russian: `
сжало сжал, превращать превраща, горным горн, ускользнуть ускользнут, схватить схват, впечатления впечатлен, сожалением сожален,
сегодняшний сегодняшн, осведомилась осведом, рассердившись рассерд, бросился брос, серебра серебр, расходится расход,
дружбы дружб`,
  serbian: `
bahate baha, zaključeno zaključen, zagušljivu zagušljiv, učestalosti učestalost, estetsko estetsk, devijacijom devijacij,
beogradski beogradsk, verifikacije verifikacij, isecka iseck, migraciji migracij, mitropolitska mitropolitsk, voznog vozn,
cenzuriše cenzuriš, digitalizujem digitalizuj`,
  spanish: `
coahuilense coahuilens, importaciones import, permitiéndole permit, probaron prob, sucesión sucesion, acusado acus,
mediocampista mediocamp, controlables control, transcribe transcrib, infarto infart, robadas rob, labiche labich, apego apeg,
robar rob`,
  swedish: `
efterlämnade efterlämn, trångt trång, medlande medl, innehades inneh, rangliga rang, skapnaden skapnad, lektor lekt,
seglade segl, förberedelser förbered, fixerade fixer, begravna begravn, stärkkragen stärkkrag, trefliga tref, dotterns dott`,
  tamil: `
புளிச்சல் புளி, ஜென்டில்மேன் ஜென்டில், அகத்தூண்டலை அகத்தூண்டல், விருதிற்குப் விருதி, இன்ஸ்ப்ரக் இன்ஸ்ப்ர, டம்பம் டம்,
போப்புகள் போப்பு, நான்ஸ்டாப் நான்ஸ், படிமக் படிம, திறனைத் திற, யோகக் யோக, மம்மிகளில் மம்மி, திருட்டால் திருடு,
பனியாறுகளில் பனியாறு`,
  turkish: `
atanan atana, ödendiği ödendik, vaktiyle vakti, gemisinde gemi, yapıyorsanız yapıyor, şiddetin şiddet, yazacağı yazacak,
kalkarken kalkar, soykırımdır soykır, çağrılarda çağrı, strasburg strasburgu, eşikleri eşik, yıkanmasını yıkanma,
mahkumları mahkum`,
}
