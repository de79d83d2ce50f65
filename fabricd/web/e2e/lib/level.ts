// How much the tests do: harness/testenv says what WEFT_TEST means. Run by themselves, as make browser does, they do all.

export const soak = (process.env.WEFT_TEST ?? 'soak') === 'soak'
