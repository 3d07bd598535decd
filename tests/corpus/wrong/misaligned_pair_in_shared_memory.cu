__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ float own[2 * 1024 + 1];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) *(float2*)&own[2 * threadIdx.x + 1] = make_float2(A[i], B[i]);
    if (i < n) C[i] = own[2 * threadIdx.x + 1] + own[2 * threadIdx.x + 2];
}
