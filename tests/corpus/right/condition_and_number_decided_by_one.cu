// Only odd threads set their mark. In the others, the number 0 decides what & gives.
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int marks[1024];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int odd = t & 1;
    if (odd) marks[t] = 1;
    int marked = odd & marks[t];
    if (i < n) C[i] = A[i] + B[i] + (marked - odd);
}
