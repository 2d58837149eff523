{#-
    Identity of a row that is derived here, as `udfs.identity.content_id` makes it: the first 128 bits
    of the SHA-256 of its parts as a JSON array, 32 lower-case hex digits.
-#}
{% macro content_id(parts) -%}
    left(sha256(cast(json_array({{ parts | join(', ') }}) as varchar)), 32)
{%- endmacro %}
