__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float sums[1024];
    int t = threadIdx.x, i = 2 * blockIdx.x * blockDim.x + t;
    sums[t] = (i < n ? input[i] : 0) + (i + (int)blockDim.x < n ? input[i + blockDim.x] : 0);
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride) sums[t] += sums[t + stride];
    }
    switch (gridDim.y) {
    case 2:
        asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
        break;
    case 3: {
        unsigned int there, here = (unsigned int)__cvta_generic_to_shared(sums);
        asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(there) : "r"(here));
        if (t == 0) output[0] = there;
        break;
    }
    default:
        if (t == 0) output[blockIdx.x] = sums[0];
    }
}
