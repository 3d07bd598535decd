#define BLOCK_SIZE 256
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float s[2 * BLOCK_SIZE];
    unsigned int t = threadIdx.x;
    unsigned int start = 2 * blockIdx.x * blockDim.x;
    s[t] = start + t < n ? input[start + t] : 0.0f;
    s[blockDim.x + t] = start + blockDim.x + t < n ? input[start + blockDim.x + t] : 0.0f;
    __syncthreads();
    for (unsigned int stride = 1; stride <= blockDim.x; stride *= 2) {
        if (t % stride == 0) s[2 * t] += s[2 * t + stride];
        __syncthreads();
    }
    if (t == 0) output[blockIdx.x] = s[0];
}
