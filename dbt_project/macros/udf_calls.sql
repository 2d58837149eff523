{#-
    Rows of (model_name, udf_name) as every model declares them, `config: {meta: {udfs: […]}}`; a test
    holds them to the compiled SQL. The graph is not known while dbt parses: then there are none.
-#}
{% macro udf_calls() -%}
    {%- set calls = [] -%}
    {%- set nodes = graph.nodes.values() | sort(attribute='name') if execute else [] -%}
    {%- for node in nodes -%}
        {%- if node.resource_type == 'model' -%}
            {%- for udf_name in node.config.meta.get('udfs', []) -%}
                {%- do calls.append("['" ~ node.name ~ "', '" ~ udf_name ~ "']") -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    select unnest(cast([{{ calls | join(', ') }}] as varchar[][])) as model_call
{%- endmacro %}
