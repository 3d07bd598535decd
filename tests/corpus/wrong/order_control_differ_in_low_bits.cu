// control differ in low bits
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ unsigned long long key;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double mine = threadIdx.x < 32 ? 1.0 : 1.1;
    atomicExch(&key, (unsigned long long)__double_as_longlong(mine));
    __syncthreads();
    if (i < n) C[i] = A[i] + B[i] + (key == 5);
}
