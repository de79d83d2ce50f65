type Part<T> = T extends (infer U)[] ? Part<U>[] : T extends object ? { [K in keyof T]?: Part<T[K]> } : T

// made is what fabricd would send with more members than a test needs.
export const made = <T>(part: Part<T>): T => part as T
