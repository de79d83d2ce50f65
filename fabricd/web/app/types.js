// Writes generated/api.ts: the types of what fabricd/api takes and sends, as docs/schema/openapi.json describes them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { compile } from 'json-schema-to-typescript'

const { components } = JSON.parse(readFileSync(new URL('../../../docs/schema/openapi.json', import.meta.url), 'utf8'))
// A reference with a text of its own would become a type of its own.
const $defs = JSON.parse(JSON.stringify(components.schemas).replaceAll('#/components/schemas/', '#/$defs/'), (_, v) =>
  v?.$ref ? { $ref: v.$ref } : v,
)
mkdirSync(new URL('generated', import.meta.url), { recursive: true })
const options = { unreachableDefinitions: true, additionalProperties: false, bannerComment: '// Generated: npm run types.' }
writeFileSync(new URL('generated/api.ts', import.meta.url), await compile({ title: 'Everything', $defs }, 'Everything', options))
