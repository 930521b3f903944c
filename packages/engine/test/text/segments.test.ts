// Where words begin and end: known texts of many scripts, and what their offsets cut out of the text.
import { test } from 'tap'
import { analyzerOf, isSearchedByPrefix } from '../../src/text/analyzer.ts'

const plain = analyzerOf({ language: 'none', analyzer: 1 })

/** Text, and its terms; where the text has other characters than the term, they follow a slash. */
const texts: readonly (readonly [string, readonly string[]])[] = [
  // Latin words, numbers, and what joins them.
  [`Don't stop`, [`don't/Don't`, 'stop']],
  ['the dog’s bone', ['the', `dog's/dog’s`, 'bone']],
  [`'quoted' rock 'n' roll`, ['quoted', 'rock', 'n', 'roll']],
  ['pi is 3.14, not 3.', ['pi', 'is', '3.14', 'not', '3']],
  ['1,000,000.50 of 192.168.0.1', ['1,000,000.50', 'of', '192.168.0.1']],
  [
    'the U.S. and the U.S.A., e.g. at 5 p.m.',
    ['the', 'us/U.S', 'and', 'the', 'usa/U.S.A', 'eg/e.g', 'at', '5', 'pm/p.m'],
  ],
  ['J.Smith wrote end.Next', ['j/J', 'smith/Smith', 'wrote', 'end', 'next/Next']],
  ['snake_case __init__ _x_', ['snake_case', 'init', 'x']],
  ['state-of-the-art', ['state', 'of', 'the', 'art']],
  ['mail bob.lee+x@example.com', ['mail', 'bob', 'lee', 'x', 'example', 'com']],
  ['https://example.com/a/b?q=1#top', ['https', 'example', 'com', 'a', 'b', 'q', '1', 'top']],
  ['src/text/analyzer.ts v1.2.3', ['src', 'text', 'analyzer', 'ts', 'v1.2.3']],
  ['C++ and C# at 50% of $3', ['c/C', 'and', 'c/C', 'at', '50', 'of', '3']],
  ['mp3 2nd 4K H₂O m²', ['mp3', '2nd', '4k/4K', 'h2o/H₂O', 'm2/m²']],
  // Forms that Unicode has for compatibility.
  ['Ｆｕｌｌ １２３', ['full/Ｆｕｌｌ', '123/１２３']],
  ['ﬁne oﬃce', ['fine/ﬁne', 'office/oﬃce']],
  ['𝔸𝕟𝕟𝕒𝕝 Ⓐ ① Ⅳ 5㎏', ['annal/𝔸𝕟𝕟𝕒𝕝', 'a/Ⓐ', '1/①', 'iv/Ⅳ', '5kg/5㎏']],
  ['soft\u00adhyphen zero\u200bwidth \ufeffmark', ['softhyphen/soft\u00adhyphen', 'zero', 'width', 'mark']],
  // Accents and strokes.
  ['Ångström Łódź naïve e\u0301te\u0301', ['angstrom/Ångström', 'lodz/Łódź', 'naive/naïve', 'ete/e\u0301te\u0301']],
  ['Straße Ærø þing Œuvre', ['strasse/Straße', 'aero/Ærø', 'thing/þing', 'oeuvre/Œuvre']],
  ['İstanbul IŞIK', ['istanbul/İstanbul', 'isik/IŞIK']],
  ['Việt Vie\u0323\u0302t', ['viet/Việt', 'viet/Vie\u0323\u0302t']],
  // Other alphabets.
  ['Ο Λόγος ΛΌΓΟΣ', ['ο/Ο', 'λογοσ/Λόγος', 'λογοσ/ΛΌΓΟΣ']],
  ['Ёлка, йод и Київ', ['елка/Ёлка', 'йод', 'и', 'київ/Київ']],
  ['კატა Կատու ᏣᎳᎩ', ['კატა', 'կատու/Կատու', 'ꮳꮃꭹ/ᏣᎳᎩ']],
  ['ևս ԵՒ', ['եւս/ևս', 'եւ/ԵՒ']],
  ['שָׁלוֹם צה״ל', ['שלום/שָׁלוֹם', 'צה״ל']],
  ['السَّلَامُ أحمد ٣٤', ['السلام/السَّلَامُ', 'احمد/أحمد', '34/٣٤']],
  ['नमस्ते दुनिया १२', ['नमस्ते', 'दुनिया', '12/१२']],
  ['வணக்கம் বাংলা', ['வணக்கம்', 'বাংলা']],
  ['ሰላም ልዑል', ['ሰላም', 'ልዑል']],
  // Scripts that are indexed as bigrams: each character begins one term.
  ['日本語', ['日本', '本語', '語']],
  ['日', ['日']],
  ['東京 2024年3月', ['東京', '京', '2024', '年', '3', '月']],
  ['カメラ、ガラス', ['カメ', 'メラ', 'ラ', 'ガラ', 'ラス', 'ス']],
  ['ｶﾞﾗｽ カ\u3099', ['ガラ/ｶﾞﾗ', 'ラス/ﾗｽ', 'ス/ｽ', 'ガ/カ\u3099']],
  ['검색 엔진', ['검색', '색', '엔진', '진']],
  ['\u1100\u1165\u11b7\u1109\u1162\u11a8', ['검색/\u1100\u1165\u11b7\u1109\u1162\u11a8', '색/\u1109\u1162\u11a8']],
  ['สวัสดี', ['สวั', 'วัส', 'สดี', 'ดี']],
  ['ສະບາຍ', ['ສະ', 'ະບ', 'ບາ', 'າຍ', 'ຍ']],
  ['ភាសា', ['ភាសា', 'សា']],
  ['SQL検索とAI', ['sql/SQL', '検索', '索と', 'と', 'ai/AI']],
  ['𠮷野', ['𠮷野', '野']],
  // Emoji.
  ['ok 👍🏽!', ['ok', '👍/👍🏽']],
  ['👨‍👩‍👧 🇩🇪🇫🇷 ❤️ ☀', ['👨‍👩‍👧', '🇩🇪', '🇫🇷', '❤/❤️', '☀']],
  // What separates words and gives none.
  ['… — «»\u3000、。※™ \u0301 \ud800 \udc00 \u{e0fff}', []],
  ['', []],
]

test('known texts give known terms, whose offsets cut the words out of the text', (t) => {
  for (const [text, expected] of texts) {
    const found = plain.tokens(text).map(({ term, start, end }) => {
      const cut = text.slice(start, end)
      return cut === term ? term : `${term}/${cut}`
    })
    t.strictSame(found, expected, JSON.stringify(text))
  }
  t.end()
})

test('positions count words, bigrams, and emoji', (t) => {
  const positions = plain.tokens('one 日本語 two 👍 U.S. three').map(({ term, position }) => `${position} ${term}`)
  t.strictSame(positions, ['0 one', '1 日本', '2 本語', '3 語', '4 two', '5 👍', '6 us', '7 three'])
  t.end()
})

test('a query of bigram characters has no term for the last one unless it is alone', (t) => {
  const termsOf = (text: string) => plain.queryTokens(text).map(({ term }) => term)
  t.strictSame(termsOf('日本語'), ['日本', '本語'])
  t.strictSame(termsOf('日本'), ['日本'])
  t.strictSame(termsOf('日'), ['日'])
  t.strictSame(termsOf('ก็'), ['ก็'])
  // Every query that a text contains has all its terms in it at the same distances.
  const text = plain.tokens('全文検索エンジン')
  for (const query of ['文', '検索', '文検索エ', 'ン', '全文検索エンジン']) {
    const [first, ...rest] = plain.queryTokens(query)
    const starts = text.filter(({ term }) =>
      isSearchedByPrefix(first?.term ?? '') ? term.startsWith(first?.term ?? '') : term === first?.term,
    )
    const matches = starts.filter((start) =>
      rest.every(({ term, position }) =>
        text.some((one) => one.term === term && one.position === start.position + position),
      ),
    )
    t.ok(matches.length >= 1, query)
  }
  t.end()
})

test('only a single character of a bigram script is searched by prefix', (t) => {
  for (const term of ['日', 'あ', 'ア', '한', 'ก', 'ก็', '𠮷']) t.ok(isSearchedByPrefix(term), term)
  for (const term of ['日本', 'a', '', 'กข', '1', '👍', 'ab']) t.notOk(isSearchedByPrefix(term), term)
  t.end()
})

test('prefixes are indexed at the position of their word and are not part of queries', (t) => {
  const analyzer = analyzerOf({ language: 'english', analyzer: 1, prefixes: { min: 2, max: 7 } })
  const text = 'The running É日本'
  const found = analyzer.tokens(text).map(({ term, position }) => `${position} ${term}`)
  t.strictSame(found, ['1 run', '1 ru', '1 runn', '1 runni', '1 runnin', '1 running', '2 e', '3 日本', '4 本'])
  t.strictSame(
    analyzer.queryTokens(text).map(({ term }) => term),
    ['run', 'e', '日本'],
  )
  const initials = analyzer.tokens('U.S.A.').map(({ term, start, end }) => `${term} ${start} ${end}`)
  t.strictSame(initials, ['usa 0 5', 'us 0 5'])
  t.end()
})

test('lists of words replace the ones of the language', (t) => {
  const analyzer = analyzerOf({ language: 'en', analyzer: 1, stopWords: ['Foo', 'ｂａｒ'], keptWords: ['Running'] })
  t.strictSame(
    analyzer.tokens('the FOO bar running runs').map(({ term }) => term),
    ['the', 'running', 'run'],
  )
  t.equal(analyzer.params.language, 'english')
  t.end()
})

test('fold lowers and folds a word without stemming it', (t) => {
  const english = analyzerOf({ language: 'english', analyzer: 1 })
  t.equal(english.fold('Cafés'), 'cafes')
  t.equal(english.fold('RUNNING'), 'running')
  t.equal(analyzerOf({ language: 'swedish', analyzer: 1 }).fold('ÅÉ'), 'åe')
  t.equal(analyzerOf({ language: 'turkish', analyzer: 1 }).fold('ISPARTA'), 'ısparta')
  t.end()
})

test('a word longer than a term may be is cut at a character', (t) => {
  for (const character of ['a', 'é', '日', 'к', '\u{10428}', '\ufdfa']) {
    const text = character.repeat(400)
    for (const { term } of plain.tokens(text)) t.ok(Buffer.byteLength(term) <= 256, `${character}: ${term.length}`)
  }
  const [cut] = plain.tokens(`${'к'.repeat(200)} b`)
  t.equal(cut?.term, 'к'.repeat(128))
  t.equal(cut?.end, 200, 'the offsets are those of the whole word')
  t.end()
})
