-- needs_fence(s): have the settings s of a queue a rate that older servers do not know? See fence_tokens()
coalesce(bool_or((:s.name = 'rate-period' and :s.value <> '1') or (:s.name = 'rate-burst' and :s.value <> '0')), false)
