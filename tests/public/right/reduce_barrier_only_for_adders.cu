#define BLOCK_SIZE 256
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float s[BLOCK_SIZE];
    int t = threadIdx.x, i = 2 * blockIdx.x * BLOCK_SIZE + t;
    s[t] = (i < n ? input[i] : 0) + (i + BLOCK_SIZE < n ? input[i + BLOCK_SIZE] : 0);
    __syncthreads();
    for (int stride = BLOCK_SIZE / 2; stride > 0; stride >>= 1) {
        if (t < stride) {
            s[t] += s[t + stride];
            __syncthreads();
        }
    }
    if (t == 0) output[blockIdx.x] = s[0];
}
