{% set key = 'study_name, test_set_name, language_model_name' %}

with

calibration_errors as (

    select * from {{ ref('fct_calibration_errors') }}

    where bin_count = {{ var('curve_bin_count') }}

),

temperature_fits as (

    select * from {{ ref('fct_temperature_fits') }}

    where token_group = 'all' and class_name = 'all' and fold_name = 'all'

),

samples as (

    select * from {{ ref('int_token_samples_identified') }}

),

figures as (

    select
        {{ key }},
        'calibration_error' as figure_kind,
        'ece_plugin' as measure_name,
        binning,
        ece_plugin as figure_value,
        twin_ece_mean as noise_floor,
        -- The twin's own spread is that of a calibrated model over unlike tokens: bins of one that
        -- is not calibrated do not fold at 0, and tokens of a document are alike.
        coalesce({{ interval_sd('ece_plugin_low', 'ece_plugin_high') }}, twin_ece_sd) as noise_sd,
        case when ece_plugin_low is null then 'twin' else 'document_bootstrap' end as noise_kind,
        bin_count

    from calibration_errors

    {% for measure_name in ['accuracy', 'mean_confidence', 'gap', 'log_loss_nats'] %}
        union all by name

        select
            {{ key }},
            'token_mean' as figure_kind,
            '{{ measure_name }}' as measure_name,
            {{ measure_name }} as figure_value,
            {{ interval_sd(measure_name ~ '_low', measure_name ~ '_high') }} as noise_sd,
            'document_bootstrap' as noise_kind

        from calibration_errors

        where binning = 'equal_width'
    {% endfor %}

    union all by name

    select
        {{ key }},
        'temperature_fit' as figure_kind,
        'fitted_temperature' as measure_name,
        fitted_temperature as figure_value,
        {{ interval_sd('fitted_temperature_low', 'fitted_temperature_high') }} as noise_sd,
        'document_bootstrap' as noise_kind

    from temperature_fits

),

token_figures_listed as (

    select
        figures.*,
        samples.token_count as sample_count,
        samples.sample_id,
        cast(
            json_object(
                'definition_version', '{{ var("definition_version") }}',
                'bin_count', figures.bin_count,
                'window_tokens', samples.window_tokens,
                'overlap_tokens', samples.overlap_tokens
            ) as varchar
        ) as definition_json

    from figures

    inner join samples
        on
            figures.study_name = samples.study_name
            and figures.test_set_name = samples.test_set_name
            and figures.language_model_name = samples.language_model_name

)

select * from token_figures_listed
