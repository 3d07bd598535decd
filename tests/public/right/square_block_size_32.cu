static const int BLOCKSIZE = 32;
__global__ void MatrixMulKernel(float *M_device, float *N_device, float *P_device, int width) {
    __shared__ float M_s[BLOCKSIZE][BLOCKSIZE];
    __shared__ float N_s[BLOCKSIZE][BLOCKSIZE];
    int x = blockIdx.x * BLOCKSIZE + threadIdx.x;
    int y = blockIdx.y * BLOCKSIZE + threadIdx.y;
    float P_element = 0;
    for (int m = 0; m < width / BLOCKSIZE; m++) {
        M_s[threadIdx.y][threadIdx.x] = M_device[y * width + (m * BLOCKSIZE + threadIdx.x)];
        N_s[threadIdx.y][threadIdx.x] = N_device[(m * BLOCKSIZE + threadIdx.y) * width + x];
        __syncthreads();
        for (int k = 0; k < BLOCKSIZE; k++) P_element += M_s[threadIdx.y][k] * N_s[k][threadIdx.x];
        __syncthreads();
    }
    P_device[y * width + x] = P_element;
}
