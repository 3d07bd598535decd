__global__ void reduceKernel(float* input, float* output, int n)
{
    __shared__ float s[2 * BLOCK_SIZE];
    unsigned short* half = (unsigned short*)s;
    int t = threadIdx.x, i = blockIdx.x * 2 * BLOCK_SIZE + t;
    float v = (i < n ? input[i] : 0.0f) + (i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0.0f);
    unsigned int bits = __float_as_uint(v);
    half[2 * t] = bits & 0xffff;
    half[2 * t + 1 + 2 * BLOCK_SIZE] = bits >> 16;
    __syncthreads();
    v = s[t];
    __syncthreads();
    for (int stride = BLOCK_SIZE / 2; stride > 0; stride /= 2) {
        s[t] = v;
        __syncthreads();
        if (t < stride) v += s[t + stride];
        __syncthreads();
    }
    if (t == 0) output[blockIdx.x] = v;
}
